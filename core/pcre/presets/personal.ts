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
import {
  hasEqualGaps,
  isTableCell,
  isWellSpaced,
  type Preset,
  validateBeginning,
  validateWhole,
} from './preset.ts'

/** Letters of alphabets outside of ASCII, and those of scripts that are written without spaces. */
const LETTERS =
  '\\x{aa}-\\x{b6}\\x{ba}\\x{c0}-\\x{dff}\\x{1200}-\\x{177f}\\x{1800}-\\x{1fff}\\x{10000}-\\x{1afff}'
const IDEOGRAPHS =
  '\\x{e00}-\\x{109f}\\x{1780}-\\x{17ff}\\x{3005}-\\x{3007}\\x{3040}-\\x{d7ff}\\x{20000}-\\x{3ffff}'

/** What stands between the groups of a number; a line break may be indented. */
const GAP = '[\\s.-]{1,4}'
const NO_GAP = '[\\s.-]{0,4}'

/**
 * Presets for payment data and the numbers of persons. They are searched for in folded texts, so spaces,
 * dashes and digits of all kinds are those of ASCII here.
 */
export const PERSONAL_PRESETS: readonly Preset[] = [
  {
    name: 'card_number',
    description: 'payment card numbers, with or without spaces, hyphens, dots and line breaks',
    pattern: '(?<!\\d)(?<!\\d\\.)[2-6]\\d(?:[\\s.-]*\\d){10,17}(?!\\d)',
    validate: validateBeginning(cardLengths, isLuhn, isSpelledLikeCard),
    checked: 'Luhn, and the lengths of the issuer',
    examples: {
      valid: [
        '4111 1111 1111 1111',
        '378282246310005',
        '5555-5555-5555-4444',
        '4111 1111 1111 1111 12/27',
        '3782.822463.10005',
        '4111  1111\r\n  1111\t1111',
        '4111 - 1111 - 1111 - 1111',
      ],
      invalid: [
        '4111 1111 1111 1112',
        '1234567890123456',
        '14111111111111111',
        '3.4111111111111111',
        '41111111.11111111',
        '41\n11\n11\n11\n11\n11\n11\n11',
      ],
    },
  },
  {
    name: 'iban',
    description: 'international bank account numbers',
    pattern: '/(?<![A-Za-z0-9])[A-Z]{2}(?:[\\s.-]*\\d){2}(?:[\\s.-]*[A-Z0-9]){11,30}/i',
    validate: validateBeginning((iban) => [IBAN_LENGTHS[iban.slice(0, 2)] ?? 0], isIban, isSpelledLikeIban),
    checked: 'mod 97, and the length of the country',
    examples: {
      valid: [
        'DE89 3704 0044 0532 0130 00',
        'GB82WEST12345698765432',
        'NL91ABNA0417164300 and more',
        'DE89-3704-0044-0532-0130-00',
        'DE 89 3704.0044.0532.0130.00',
        'GB82 WEST\n1234 5698\n7654 32',
      ],
      invalid: ['DE89 3704 0044 0532 0130 01', 'XX82WEST12345698765432'],
    },
  },
  {
    name: 'email',
    description: 'e-mail addresses',
    pattern:
      `(?:(?<![\\w.+-])[\\w.+${LETTERS}-]+|[${IDEOGRAPHS}]+)` +
      `@(?:[A-Za-z0-9${LETTERS}${IDEOGRAPHS}-]+[.\\x{3002}])+` +
      `(?:[A-Za-z]{2,24}|[Xx][Nn]--[A-Za-z0-9-]{2,59}|[${LETTERS}${IDEOGRAPHS}]{2,})(?![\\w-])`,
    examples: {
      valid: [
        'ada.lovelace+x@mail.example.com',
        'jörg@müller.de',
        'ada@xn--mller-kva.xn--p1ai',
        'иван@пример.рф',
        '用户@例子.广告',
      ],
      invalid: ['ada at example.com', '@example', 'a@b', 'ä@ö'],
    },
  },
  {
    name: 'phone_number',
    description: 'phone numbers with a country code, and North American numbers with separators',
    pattern:
      '(?<![\\d+])(?:\\+[1-9]\\d{0,2}(?:[\\s./-]{0,4}\\(?\\d{1,5}\\)?){2,6}' +
      `|(?:\\([2-9]\\d{2}\\)${NO_GAP}|[2-9]\\d{2}${GAP})[2-9]\\d{2}${GAP}\\d{4})(?!\\d)`,
    validate: (match, before) =>
      (match.startsWith('+') ? isE164(match) : !isTableCell(match, before)) ? match.length : 0,
    checked: '8 to 15 digits with a country code',
    examples: {
      valid: [
        '+49 30 901820',
        '+1 (415) 555-2671',
        '415-555-2671',
        '(415) 555-2671',
        '(415)555-2671',
        '+49 (0) 30 / 901820',
      ],
      invalid: ['+1 23', '2024-05-17', '123-456-7890'],
    },
  },
  {
    name: 'us_ssn',
    description: 'US social security numbers with hyphens, spaces or dots',
    pattern: `(?<![\\d-])(?!000|666|9\\d\\d)\\d{3}${GAP}(?!00)\\d{2}${GAP}(?!0000)\\d{4}(?![\\d-])`,
    validate: (match, before) => (isWellSpaced(match, before) && hasEqualGaps(match) ? match.length : 0),
    examples: {
      valid: ['123-45-6789', '123 45 6789', '123.45.6789', '123 - 45 -\n6789'],
      invalid: ['000-12-3456', '666-12-3456', '123-00-4567', '123.45 6789'],
    },
  },
  {
    name: 'uk_nino',
    description: 'British national insurance numbers',
    pattern:
      '/\\b(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]' +
      `(?:${NO_GAP}\\d{2}){3}${NO_GAP}[A-D]\\b/i`,
    examples: {
      valid: ['AB 12 34 56 C', 'JG103759A', 'AB-12-34-56-C'],
      invalid: ['GB123456A', 'AB123456E', 'DA123456A'],
    },
  },
  {
    name: 'uk_nhs_number',
    description: 'British NHS numbers with separators',
    pattern: `(?<!\\d)\\d{3}${GAP}\\d{3}${GAP}\\d{4}(?!\\d)`,
    validate: validateWhole(isNhsNumber, 2),
    checked: 'mod 11',
    examples: { valid: ['943 476 5919', '943-476-5919'], invalid: ['943 476 5918', '123 456 7890'] },
  },
  {
    name: 'ca_sin',
    description: 'Canadian social insurance numbers with separators',
    pattern: `(?<!\\d)[1-79]\\d{2}${GAP}\\d{3}${GAP}\\d{3}(?!\\d)`,
    validate: validateWhole(isLuhn, 2),
    checked: 'Luhn',
    examples: { valid: ['130 692 544', '130-692-544'], invalid: ['130 692 545', '046 454 287'] },
  },
  {
    name: 'fr_nir',
    description: 'French social security numbers (NIR)',
    pattern:
      `/(?<!\\d)[12]${NO_GAP}\\d{2}${NO_GAP}(?:0[1-9]|1[0-2]|[2-9]\\d)${NO_GAP}(?:\\d{2}|2[AB])` +
      `(?:${NO_GAP}\\d{3}){2}${NO_GAP}\\d{2}(?!\\d)/i`,
    validate: validateWhole(isNir, 6),
    checked: 'mod 97',
    examples: { valid: ['2 55 08 14 168 025 38', '255081416802538'], invalid: ['2 55 08 14 168 025 39'] },
  },
  {
    name: 'de_tax_id',
    description: 'German tax identification numbers',
    pattern: `(?<!\\d)[1-9]\\d(?:${NO_GAP}\\d{3}){3}(?!\\d)`,
    validate: validateWhole(isGermanTaxId, 3),
    checked: 'ISO 7064 mod 11,10',
    examples: { valid: ['86095742719', '86 095 742 719'], invalid: ['86095742718', '12345678901'] },
  },
  {
    name: 'es_dni',
    description: 'Spanish identity numbers (DNI, NIE)',
    pattern:
      `/(?<![A-Z0-9])(?:\\d{8}|[XYZ]${NO_GAP}\\d{7}|(?:[XYZ]${NO_GAP}\\d|\\d{2})(?:${GAP}\\d{3}){2})` +
      `${NO_GAP}[A-HJ-NP-TV-Z](?![A-Z0-9])/i`,
    validate: validateWhole(isDni, 3),
    checked: 'mod 23',
    examples: {
      valid: ['12345678Z', 'X1234567L', '12345678-z', '12.345.678-Z', 'X-1234567-L'],
      invalid: ['12345678A', 'X1234567A'],
    },
  },
  {
    name: 'it_codice_fiscale',
    description: 'Italian tax codes (codice fiscale)',
    pattern:
      `/(?<![A-Z0-9])[A-Z]{3}${NO_GAP}[A-Z]{3}${NO_GAP}\\d{2}[A-EHLMPRST]\\d{2}` +
      `${NO_GAP}[A-Z]\\d{3}${NO_GAP}[A-Z](?![A-Z0-9])/i`,
    validate: validateWhole(isCodiceFiscale),
    checked: 'check letter',
    examples: { valid: ['RSSMRA85T10A562S', 'RSS MRA 85T10 A562 S'], invalid: ['RSSMRA85T10A562T'] },
  },
  {
    name: 'nl_bsn',
    description: 'Dutch citizen service numbers (BSN) after the word BSN, or with separators',
    pattern: `/(?:\\bBSN\\W{0,3}\\d(?:[\\s.-]?\\d){8}|(?<!\\d)\\d{4}${GAP}\\d{2}${GAP}\\d{3})(?!\\d)/i`,
    validate: (match, before) =>
      isBsn(match.replace(/\D/g, '')) &&
      (/^B/i.test(match) || (hasEqualGaps(match) && isWellSpaced(match, before)))
        ? match.length
        : 0,
    checked: 'eleven-test',
    examples: {
      valid: ['BSN: 111222333', '1112.22.333', 'BSN 111 222 333'],
      invalid: ['BSN: 111222334', '111222333'],
    },
  },
  {
    name: 'be_national_number',
    description: 'Belgian national numbers',
    pattern: `(?<!\\d)\\d{2}${NO_GAP}[01]\\d${NO_GAP}[0-3]\\d${NO_GAP}\\d{3}${NO_GAP}\\d{2}(?!\\d)`,
    validate: validateWhole(isBelgianNumber, 4),
    checked: 'mod 97',
    examples: { valid: ['85.07.30-033 28', '85073003328'], invalid: ['85.07.30-033 29'] },
  },
  {
    name: 'pl_pesel',
    description: 'Polish PESEL numbers',
    pattern: '(?<!\\d)\\d{2}[0-3]\\d[0-3]\\d{6}(?!\\d)',
    validate: validateWhole(isPesel, 0),
    checked: 'weighted sum mod 10',
    examples: { valid: ['44051401359'], invalid: ['44051401358'] },
  },
  {
    name: 'se_personal_number',
    description: 'Swedish personal numbers',
    pattern: '(?<!\\d)(?:19|20)?\\d{2}[01]\\d[0-3]\\d\\s{0,2}[-+]\\s{0,2}\\d{4}(?!\\d)',
    validate: validateWhole((digits) => isLuhn(digits.slice(-10)), 1),
    checked: 'Luhn',
    examples: { valid: ['811218-9876', '19811218-9876'], invalid: ['811218-9875'] },
  },
  {
    name: 'ch_ahv_number',
    description: 'Swiss AHV numbers',
    pattern: `(?<!\\d)756(?:${NO_GAP}\\d{4}){2}${NO_GAP}\\d{2}(?!\\d)`,
    validate: validateWhole(isEan13, 3),
    checked: 'EAN-13',
    examples: { valid: ['756.9217.0769.85', '7569217076985'], invalid: ['756.9217.0769.84'] },
  },
  {
    name: 'br_cpf',
    description: 'Brazilian CPF numbers',
    pattern: `(?<!\\d)\\d{3}(?:${NO_GAP}\\d{3}){2}${NO_GAP}\\d{2}(?!\\d)`,
    validate: validateWhole(isCpf, 3),
    checked: 'two digits mod 11',
    examples: { valid: ['529.982.247-25', '52998224725'], invalid: ['529.982.247-24', '111.111.111-11'] },
  },
  {
    name: 'in_aadhaar',
    description: 'Indian Aadhaar numbers',
    pattern: `(?<!\\d)[2-9]\\d{3}(?:${NO_GAP}\\d{4}){2}(?!\\d)`,
    validate: validateWhole(isVerhoeff, 2),
    checked: 'Verhoeff',
    examples: { valid: ['2341 2341 2346'], invalid: ['2341 2341 2347'] },
  },
  {
    name: 'au_tfn',
    description: 'Australian tax file numbers with separators',
    pattern: `(?<!\\d)\\d{3}${GAP}\\d{3}${GAP}\\d{3}(?!\\d)`,
    validate: validateWhole(isTfn, 2),
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

/** Single spaces and hyphens may be anywhere in a card number, other gaps only between its groups. */
function isSpelledLikeCard(match: string, before: string): boolean {
  if (/^(?:\d[ -]?)+$/.test(match)) return true
  return CARD_GROUPS.test(match.replace(/\D+/g, ' ')) && isWellSpaced(match, before)
}

/** Single spaces may be anywhere in an IBAN, other gaps only between its groups. */
function isSpelledLikeIban(match: string, before: string): boolean {
  if (/^(?:\w ?)+$/.test(match)) return true
  return IBAN_GROUPS.test(match.replace(/\W+/g, ' ')) && isWellSpaced(match, before)
}

const IBAN_GROUPS = /^\w{2} ?\w{2}(?: \w{4})+(?: \w{1,3})?$/

const CARD_GROUPS = /^\d{4} (?:\d{4} \d{4} \d{1,7}|\d{4} \d{4} \d{4} \d{1,3}|\d{6} \d{4,5}|\d{5} \d{6})$/

/** Every country's has more digits than letters, and prose has not. */
function isIban(iban: string): boolean {
  return iban.replace(/\D/g, '').length * 2 >= iban.length && isMod97(iban)
}
