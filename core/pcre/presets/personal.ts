import {
  isBelgianNumber,
  isBsn,
  isCodiceFiscale,
  isCpf,
  isDni,
  isEan13,
  isGermanTaxId,
  isLuhn,
  isMod97,
  isNhsNumber,
  isNir,
  isPesel,
  isTfn,
  isVerhoeff,
} from './checksums.ts'
import { type Preset, validateBeginning, validateWhole } from './preset.ts'

/** Presets for payment data and the numbers of persons. */
export const PERSONAL_PRESETS: readonly Preset[] = [
  {
    name: 'card_number',
    description: 'payment card numbers, with or without spaces and hyphens',
    pattern: '(?<![\\d.])[2-6]\\d(?:[ -]?\\d){10,17}(?!\\d)',
    validate: validateBeginning(cardLengths, isLuhn),
    checked: 'Luhn, and the lengths of the issuer',
    examples: {
      valid: ['4111 1111 1111 1111', '378282246310005', '5555-5555-5555-4444', '4111 1111 1111 1111 12/27'],
      invalid: ['4111 1111 1111 1112', '1234567890123456', '14111111111111111'],
    },
  },
  {
    name: 'iban',
    description: 'international bank account numbers',
    pattern: '/(?<![A-Za-z0-9])[A-Z]{2}\\d{2}(?: ?[A-Z0-9]){11,30}/i',
    validate: validateBeginning((iban) => [IBAN_LENGTHS[iban.slice(0, 2)] ?? 0], isMod97),
    checked: 'mod 97, and the length of the country',
    examples: {
      valid: ['DE89 3704 0044 0532 0130 00', 'GB82WEST12345698765432', 'NL91ABNA0417164300 and more'],
      invalid: ['DE89 3704 0044 0532 0130 01', 'XX82WEST12345698765432'],
    },
  },
  {
    name: 'email',
    description: 'e-mail addresses',
    pattern: '/(?<![\\w.+-])[\\w.+-]+@(?:[a-z0-9-]+\\.)+[a-z]{2,24}(?![\\w-])/i',
    examples: {
      valid: ['ada.lovelace+x@mail.example.com'],
      invalid: ['ada at example.com', '@example', 'a@b'],
    },
  },
  {
    name: 'phone_number',
    description: 'phone numbers with a country code, and North American numbers with separators',
    pattern:
      '(?<![\\d+])(?:\\+[1-9]\\d{0,2}(?:[ .-]?\\(?\\d{1,5}\\)?){2,6}' +
      '|\\(?[2-9]\\d{2}\\)?[ .-][2-9]\\d{2}[ .-]\\d{4})(?!\\d)',
    validate: (match) => (/^\+/.test(match) && !isE164(match) ? 0 : match.length),
    checked: '8 to 15 digits with a country code',
    examples: {
      valid: ['+49 30 901820', '+1 (415) 555-2671', '415-555-2671', '(415) 555-2671'],
      invalid: ['+1 23', '2024-05-17', '123-456-7890'],
    },
  },
  {
    name: 'us_ssn',
    description: 'US social security numbers with hyphens or spaces',
    pattern: '(?<![\\d-])(?!000|666|9\\d\\d)\\d{3}[- ](?!00)\\d{2}[- ](?!0000)\\d{4}(?![\\d-])',
    examples: {
      valid: ['123-45-6789', '123 45 6789'],
      invalid: ['000-12-3456', '666-12-3456', '123-00-4567'],
    },
  },
  {
    name: 'uk_nino',
    description: 'British national insurance numbers',
    pattern:
      '/\\b(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\\d{2} ?\\d{2} ?\\d{2} ?[A-D]\\b/i',
    examples: { valid: ['AB 12 34 56 C', 'JG103759A'], invalid: ['GB123456A', 'AB123456E', 'DA123456A'] },
  },
  {
    name: 'uk_nhs_number',
    description: 'British NHS numbers with separators',
    pattern: '(?<!\\d)\\d{3}[ -]\\d{3}[ -]\\d{4}(?!\\d)',
    validate: validateWhole(isNhsNumber),
    checked: 'mod 11',
    examples: { valid: ['943 476 5919', '943-476-5919'], invalid: ['943 476 5918', '123 456 7890'] },
  },
  {
    name: 'ca_sin',
    description: 'Canadian social insurance numbers with separators',
    pattern: '(?<!\\d)[1-79]\\d{2}[ -]\\d{3}[ -]\\d{3}(?!\\d)',
    validate: validateWhole(isLuhn),
    checked: 'Luhn',
    examples: { valid: ['130 692 544', '130-692-544'], invalid: ['130 692 545', '046 454 287'] },
  },
  {
    name: 'fr_nir',
    description: 'French social security numbers (NIR)',
    pattern:
      '/(?<!\\d)[12] ?\\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\\d) ?(?:\\d{2}|2[AB]) ?\\d{3} ?\\d{3} ?\\d{2}(?!\\d)/i',
    validate: validateWhole(isNir),
    checked: 'mod 97',
    examples: { valid: ['2 55 08 14 168 025 38', '255081416802538'], invalid: ['2 55 08 14 168 025 39'] },
  },
  {
    name: 'de_tax_id',
    description: 'German tax identification numbers',
    pattern: '(?<!\\d)[1-9]\\d(?: ?\\d{3}){3}(?!\\d)',
    validate: validateWhole(isGermanTaxId),
    checked: 'ISO 7064 mod 11,10',
    examples: { valid: ['86095742719', '86 095 742 719'], invalid: ['86095742718', '12345678901'] },
  },
  {
    name: 'es_dni',
    description: 'Spanish identity numbers (DNI, NIE)',
    pattern: '/(?<![A-Z0-9])[XYZ0-9]\\d{7}-?[A-HJ-NP-TV-Z](?![A-Z0-9])/i',
    validate: validateWhole((dni) => isDni(dni)),
    checked: 'mod 23',
    examples: { valid: ['12345678Z', 'X1234567L', '12345678-z'], invalid: ['12345678A', 'X1234567A'] },
  },
  {
    name: 'it_codice_fiscale',
    description: 'Italian tax codes (codice fiscale)',
    pattern: '/(?<![A-Z0-9])[A-Z]{6}\\d{2}[A-EHLMPRST]\\d{2}[A-Z]\\d{3}[A-Z](?![A-Z0-9])/i',
    validate: validateWhole(isCodiceFiscale),
    checked: 'check letter',
    examples: { valid: ['RSSMRA85T10A562S'], invalid: ['RSSMRA85T10A562T'] },
  },
  {
    name: 'nl_bsn',
    description: 'Dutch citizen service numbers (BSN) after the word BSN, or with separators',
    pattern: '/(?:\\bBSN\\W{0,3}\\d{9}|(?<!\\d)\\d{4}[. ]\\d{2}[. ]\\d{3})(?!\\d)/i',
    validate: (match) => (isBsn(match.replace(/\D/g, '')) ? match.length : 0),
    checked: 'eleven-test',
    examples: { valid: ['BSN: 111222333', '1112.22.333'], invalid: ['BSN: 111222334', '111222333'] },
  },
  {
    name: 'be_national_number',
    description: 'Belgian national numbers',
    pattern: '(?<!\\d)\\d{2}[.]?[01]\\d[.]?[0-3]\\d[- ]?\\d{3}[. ]?\\d{2}(?!\\d)',
    validate: validateWhole(isBelgianNumber),
    checked: 'mod 97',
    examples: { valid: ['85.07.30-033 28', '85073003328'], invalid: ['85.07.30-033 29'] },
  },
  {
    name: 'pl_pesel',
    description: 'Polish PESEL numbers',
    pattern: '(?<!\\d)\\d{2}[0-3]\\d[0-3]\\d{6}(?!\\d)',
    validate: validateWhole(isPesel),
    checked: 'weighted sum mod 10',
    examples: { valid: ['44051401359'], invalid: ['44051401358'] },
  },
  {
    name: 'se_personal_number',
    description: 'Swedish personal numbers',
    pattern: '(?<!\\d)(?:19|20)?\\d{2}[01]\\d[0-3]\\d[-+]\\d{4}(?!\\d)',
    validate: validateWhole((digits) => isLuhn(digits.slice(-10))),
    checked: 'Luhn',
    examples: { valid: ['811218-9876', '19811218-9876'], invalid: ['811218-9875'] },
  },
  {
    name: 'ch_ahv_number',
    description: 'Swiss AHV numbers',
    pattern: '(?<!\\d)756[. ]?\\d{4}[. ]?\\d{4}[. ]?\\d{2}(?!\\d)',
    validate: validateWhole(isEan13),
    checked: 'EAN-13',
    examples: { valid: ['756.9217.0769.85', '7569217076985'], invalid: ['756.9217.0769.84'] },
  },
  {
    name: 'br_cpf',
    description: 'Brazilian CPF numbers',
    pattern: '(?<!\\d)\\d{3}[.]?\\d{3}[.]?\\d{3}-?\\d{2}(?!\\d)',
    validate: validateWhole(isCpf),
    checked: 'two digits mod 11',
    examples: { valid: ['529.982.247-25', '52998224725'], invalid: ['529.982.247-24', '111.111.111-11'] },
  },
  {
    name: 'in_aadhaar',
    description: 'Indian Aadhaar numbers',
    pattern: '(?<!\\d)[2-9]\\d{3}[ -]?\\d{4}[ -]?\\d{4}(?!\\d)',
    validate: validateWhole(isVerhoeff),
    checked: 'Verhoeff',
    examples: { valid: ['2341 2341 2346'], invalid: ['2341 2341 2347'] },
  },
  {
    name: 'au_tfn',
    description: 'Australian tax file numbers with separators',
    pattern: '(?<!\\d)\\d{3}[ -]\\d{3}[ -]\\d{3}(?!\\d)',
    validate: validateWhole(isTfn),
    checked: 'mod 11',
    examples: { valid: ['123 456 782'], invalid: ['123 456 783'] },
  },
]

/** The lengths of the issuer's card numbers; none for digits that no issuer has. */
function cardLengths(digits: string): readonly number[] {
  if (/^4/.test(digits)) return [13, 16, 19]
  if (/^(?:5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/.test(digits)) return [16]
  if (/^3[47]/.test(digits)) return [15]
  if (/^3(?:0[0-5]|[68])/.test(digits)) return [14]
  if (/^(?:6011|65|64[4-9]|35(?:2[89]|[3-8]))/.test(digits)) return [16, 17, 18, 19]
  return /^(?:50|5[6-9]|6)/.test(digits) ? [12, 13, 14, 15, 16, 17, 18, 19] : []
}

function isE164(match: string): boolean {
  const digits = match.replace(/\D/g, '').length
  return digits >= 8 && digits <= 15
}

const IBAN_LENGTHS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    'AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ' +
    'ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 ' +
    'LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 ' +
    'QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20'
  )
    .split(' ')
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)
