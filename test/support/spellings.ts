/** Other spellings of a number, which presets must find as well. */
export const SPELLINGS: Readonly<Record<string, (number: string) => string>> = {
  'no-break spaces': withGaps('\u00a0'),
  'narrow no-break spaces': withGaps('\u202f'),
  'thin spaces': withGaps('\u2009'),
  'figure spaces': withGaps('\u2007'),
  'ideographic spaces': withGaps('\u3000'),
  'double spaces': withGaps('  '),
  tabs: withGaps('\t'),
  'line breaks': withGaps('\n'),
  'line breaks of Windows, indented': withGaps('\r\n  '),
  dots: withGaps('.'),
  'middle dots': withGaps('\u00b7'),
  'full-width dots': withGaps('\uff0e'),
  hyphens: withGaps('\u2010'),
  'non-breaking hyphens': withGaps('\u2011'),
  'figure dashes': withGaps('\u2012'),
  'en dashes': withGaps('\u2013'),
  'em dashes': withGaps('\u2014'),
  'minus signs': withGaps('\u2212'),
  'full-width hyphens': withGaps('\uff0d'),
  'dashes between spaces': withGaps(' \u2013 '),
  'zero-width spaces': (number) => [...number].join('\u200b'),
  'word joiners and soft hyphens': (number) => [...number].join('\u2060\u00ad'),
  'marks of direction': (number) => `\u202d${[...number].join('\u200e')}\u202c`,
  'full-width characters': (number) =>
    number.replace(/[!-~]/g, (character) => String.fromCharCode(character.charCodeAt(0) + 0xfee0)),
  'mathematical digits': (number) =>
    number.replace(/\d/g, (digit) => String.fromCodePoint(0x1d7ce + Number(digit))),
  'Arabic-Indic digits': (number) =>
    number.replace(/\d/g, (digit) => String.fromCodePoint(0x660 + Number(digit))),
}

function withGaps(gap: string): (number: string) => string {
  return (number) => number.replaceAll(' ', gap)
}

/** Numbers in groups, by preset, which are found in every spelling. */
export const GROUPED_NUMBERS: Readonly<Record<string, string>> = {
  card_number: '4111 1111 1111 1111',
  iban: 'DE89 3704 0044 0532 0130 00',
  phone_number: '+49 30 901820',
  us_ssn: '123 45 6789',
  uk_nino: 'AB 12 34 56 C',
  uk_nhs_number: '943 476 5919',
  ca_sin: '130 692 544',
  fr_nir: '2 55 08 14 168 025 38',
  de_tax_id: '86 095 742 719',
  es_dni: '12 345 678 Z',
  it_codice_fiscale: 'RSS MRA 85T10 A562S',
  nl_bsn: '1112 22 333',
  be_national_number: '85 07 30 033 28',
  ch_ahv_number: '756 9217 0769 85',
  br_cpf: '529 982 247 25',
  in_aadhaar: '2341 2341 2346',
  au_tfn: '123 456 782',
}

/** Values that have no groups, by preset: only what is folded makes another spelling of them. */
export const UNGROUPED_VALUES: Readonly<Record<string, string>> = {
  email: 'ada.lovelace@mail.example.com',
  pl_pesel: '44051401359',
  se_personal_number: '811218-9876',
  ip_address: '203.0.113.77',
  aws_access_key: 'AKIAIOSFODNN7EXAMPLE',
  github_token: `ghp_${'aB3'.repeat(12)}`,
  openai_key: `sk-proj-${'aB3'.repeat(16)}`,
  url_with_password: 'postgres://app:hunter2@db.internal',
}
