import type { CodePointRange, SetItem } from './ast.ts'
import { lazy } from './lazy.ts'
import { PatternError } from './pattern.ts'

const LAST_CODE_POINT = 0x10ffff

export function singleCodePoint(code: number): CodePointRange {
  return { from: code, to: code }
}

/** Builds a range from each pair of characters, such as `'az'`; a single character is a range of its own. */
function rangesOf(...pairs: readonly string[]): readonly CodePointRange[] {
  return pairs.map((pair) => {
    const [from = 0, to = from] = [...pair].map((character) => character.codePointAt(0) ?? 0)
    return { from, to }
  })
}

/** Sorts the ranges and merges those that overlap or touch. */
export function mergeRanges(ranges: readonly CodePointRange[]): readonly CodePointRange[] {
  const merged: CodePointRange[] = []
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last === undefined || range.from > last.to + 1) merged.push(range)
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, range.to) }
  }
  return merged
}

/** Returns all code points outside the ranges. */
export function complementRanges(ranges: readonly CodePointRange[]): readonly CodePointRange[] {
  const outside: CodePointRange[] = []
  let from = 0
  for (const range of mergeRanges(ranges)) {
    if (range.from > from) outside.push({ from, to: range.from - 1 })
    from = range.to + 1
  }
  if (from <= LAST_CODE_POINT) outside.push({ from, to: LAST_CODE_POINT })
  return outside
}

/**
 * Returns the set of a shorthand such as `d` or `W`. It is limited to ASCII unless `unicode` is true, as in
 * PHP without and with the modifier `u`.
 */
export function shorthandSet(letter: string, unicode: boolean): readonly SetItem[] {
  const name = letter.toLowerCase()
  const items = (unicode ? UNICODE_SHORTHANDS[name] : undefined) ?? SHORTHANDS[name] ?? []
  return letter === name ? items : complementSet(items)
}

/**
 * Returns the set of a POSIX class such as `alpha`. As in PHP, `caseless` widens `lower` and `upper`. Throws
 * a `PatternError` if the class is unknown.
 */
export function posixSet(
  name: string,
  negated: boolean,
  mode: { readonly unicode: boolean; readonly caseless: boolean },
): readonly SetItem[] {
  const isCase = name === 'upper' || name === 'lower'
  const className = isCase && mode.caseless && !mode.unicode ? 'alpha' : name
  const items = (mode.unicode ? UNICODE_POSIX[className] : undefined) ?? POSIX[className]
  if (items === undefined) throw new PatternError(`[:${name}:] is not a POSIX class`)
  return negated ? complementSet(items) : items
}

/** Characters with one of these properties. A one-letter general category includes its subcategories. */
function categorySet(...names: readonly string[]): readonly SetItem[] {
  return names.map((property) => ({ property, negated: false }))
}

/** Returns the complement. Throws a `PatternError` if it is not a union of ranges and properties. */
function complementSet(items: readonly SetItem[]): readonly SetItem[] {
  if (items === UNICODE_WORD) return UNICODE_NON_WORD
  if (items.every((item) => 'from' in item)) return complementRanges(items)
  const [first] = items
  if (items.length === 1 && first !== undefined && 'property' in first)
    return [{ ...first, negated: !first.negated }]
  const names = items.map((item) => ('property' in item && !item.negated ? item.property : ''))
  const all = [...(names.includes('L') ? ['L'] : LETTER_KINDS), ...OTHER_CATEGORIES]
  if (!names.every((name) => all.includes(name)))
    throw new PatternError('[:^punct:], [:^graph:] and [:^print:] are not supported with the modifier u')
  return categorySet(...all.filter((category) => !names.includes(category)))
}

const LETTER_KINDS = ['Lu', 'Ll', 'Lt', 'Lm', 'Lo']
const OTHER_CATEGORIES = ['M', 'N', 'P', 'S', 'Z', 'C']

const DIGIT = rangesOf('09')
const ALPHA = rangesOf('AZ', 'az')
const WORD = rangesOf('09', 'AZ', '_', 'az')
const SPACE = rangesOf('\t\r', ' ')
const HORIZONTAL = rangesOf(
  ...['\t', ' ', '\u00a0', '\u1680', '\u180e', '\u2000\u200a', '\u202f', '\u205f', '\u3000'],
)
const VERTICAL = rangesOf('\n\r', '\u0085', '\u2028\u2029')
const UNICODE_SPACE = [...HORIZONTAL, ...VERTICAL]
const UNICODE_WORD: readonly SetItem[] = [...categorySet('L', 'N'), ...rangesOf('_')]
/** Lists the category `Pc` as ranges, to leave out the underscore. */
const UNICODE_NON_WORD: readonly SetItem[] = [
  ...categorySet('M', 'Pd', 'Ps', 'Pe', 'Pi', 'Pf', 'Po', 'S', 'Z', 'C'),
  ...rangesOf('\u203f\u2040', '\u2054', '\ufe33\ufe34', '\ufe4d\ufe4f', '\uff3f'),
]

const SHORTHANDS: Readonly<Record<string, readonly SetItem[]>> = {
  d: DIGIT,
  w: WORD,
  s: SPACE,
  h: HORIZONTAL,
  v: VERTICAL,
  n: rangesOf('\n'),
}

const UNICODE_SHORTHANDS: Readonly<Record<string, readonly SetItem[]>> = {
  d: categorySet('Nd'),
  w: UNICODE_WORD,
  s: UNICODE_SPACE,
}

const POSIX: Readonly<Record<string, readonly SetItem[]>> = {
  alpha: ALPHA,
  lower: rangesOf('az'),
  upper: rangesOf('AZ'),
  alnum: [...DIGIT, ...ALPHA],
  ascii: rangesOf('\u0000\u007f'),
  blank: rangesOf('\t', ' '),
  cntrl: rangesOf('\u0000\u001f', '\u007f'),
  digit: DIGIT,
  graph: rangesOf('!~'),
  print: rangesOf(' ~'),
  punct: rangesOf('!/', ':@', '[`', '{~'),
  space: SPACE,
  word: WORD,
  xdigit: rangesOf('09', 'AF', 'af'),
}

/** The category `Cf` without the marks that PCRE does not count as graphic. */
const GRAPHIC_FORMATS: readonly CodePointRange[] = [
  ...rangesOf('\u00ad', '\u0600\u0605', '\u06dd', '\u070f', '\u0890\u0891', '\u08e2', '\u200b\u200f'),
  ...rangesOf('\u202a\u202e', '\u2060\u2064', '\u206a\u206f', '\ufeff', '\ufff9\ufffb'),
  ...rangesOf('\u{110bd}', '\u{110cd}', '\u{13430}\u{1343f}', '\u{1bca0}\u{1bca3}', '\u{1d173}\u{1d17a}'),
  ...rangesOf('\u{e0001}', '\u{e0020}\u{e007f}'),
]
const GRAPHIC: readonly SetItem[] = [...categorySet('L', 'M', 'N', 'P', 'S'), ...GRAPHIC_FORMATS]

const UNICODE_POSIX: Readonly<Record<string, readonly SetItem[]>> = {
  alpha: categorySet('L'),
  lower: categorySet('Ll'),
  upper: categorySet('Lu'),
  alnum: categorySet('L', 'N'),
  blank: HORIZONTAL,
  cntrl: categorySet('Cc'),
  digit: categorySet('Nd'),
  graph: GRAPHIC,
  print: [...GRAPHIC, ...categorySet('Zs')],
  punct: [
    ...categorySet('P'),
    ...'$+<=>^`|~'.split('').map((symbol) => singleCodePoint(symbol.charCodeAt(0))),
  ],
  space: UNICODE_SPACE,
  word: UNICODE_WORD,
}

/**
 * Returns the set of `\p{name}`: a general category, `L&`, `Any`, one of PCRE's own `X…` properties, a
 * script or a binary property. Throws a `PatternError` if the name is unknown.
 */
export function propertySet(name: string, negated: boolean): readonly SetItem[] {
  const normalized = name.replace(/[\s_-]+/g, '_').replace(/^_|_$/g, '')
  const [, caret = '', plain = ''] = normalized.match(/^(\^?)_?(.*)$/s) ?? []
  const items = findPropertySet(plain)
  if (items === undefined) throw new PatternError(`\\p{${name}} is not a known Unicode property`)
  return negated !== (caret !== '') ? complementSet(items) : items
}

const GENERAL_CATEGORIES = [
  'C Cc Cf Cn Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No',
  'P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs',
].flatMap((names) => names.split(' '))

const COMPOUND_PROPERTIES: Readonly<Record<string, readonly SetItem[]>> = {
  any: [{ from: 0, to: 0x10ffff }],
  'l&': categorySet('Lu', 'Ll', 'Lt'),
  lc: categorySet('Lu', 'Ll', 'Lt'),
  xan: categorySet('L', 'N'),
  xwd: shorthandSet('w', true),
  xsp: shorthandSet('s', true),
  xps: shorthandSet('s', true),
}

function findPropertySet(name: string): readonly SetItem[] | undefined {
  const lower = name.toLowerCase()
  const category = GENERAL_CATEGORIES.find((known) => known.toLowerCase() === lower)
  if (category !== undefined) return categorySet(category)
  return COMPOUND_PROPERTIES[lower] ?? findScript(lower) ?? findBinaryProperty(lower)
}

/** A script name without a prefix includes script extensions, as in PCRE2 since 10.40. */
function findScript(lower: string): readonly SetItem[] | undefined {
  const [, kind = '', script = ''] =
    lower.match(/^(?:(sc|script|scx|script_?extensions)_?[:=]_?)?(\w+)$/) ?? []
  const property = `${kind === 'sc' || kind === 'script' ? 'sc' : 'scx'}=${toUnicodeName(script)}`
  return isProperty(property) ? categorySet(property) : undefined
}

function findBinaryProperty(lower: string): readonly SetItem[] | undefined {
  const name = toUnicodeName(lower)
  // JavaScript accepts long category names such as `Letter` here; PCRE does not.
  return isProperty(name) && !isProperty(`gc=${name}`) ? categorySet(name) : undefined
}

/** Returns the name as JavaScript requires it. PCRE ignores case, underscores and hyphens. */
function toUnicodeName(name: string): string {
  const compact = name.replaceAll('_', '')
  return irregularNames().get(compact) ?? compact.charAt(0).toUpperCase() + compact.slice(1)
}

/** Names and short names of properties and scripts that are not a single capitalized word. */
const irregularNames = lazy(() => {
  const names =
    'ASCII ASCII_Hex_Digit AHex Bidi_Control Bidi_C Bidi_Mirrored Bidi_M Case_Ignorable CI ' +
    'Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL ' +
    'Changes_When_Titlecased CWT Changes_When_Uppercased CWU Default_Ignorable_Code_Point DI EBase EComp ' +
    'EMod EPres Emoji_Component Emoji_Modifier Emoji_Modifier_Base Emoji_Presentation ExtPict ' +
    'Extended_Pictographic Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext Hex_Digit IDC IDS IDSB IDST ' +
    'IDS_Binary_Operator IDS_Trinary_Operator ID_Continue ID_Start Join_Control Join_C LOE ' +
    'Logical_Order_Exception NChar Noncharacter_Code_Point Pat_Syn Pat_WS Pattern_Syntax ' +
    'Pattern_White_Space QMark Quotation_Mark RI Regional_Indicator SD STerm Sentence_Terminal Soft_Dotted ' +
    'Terminal_Punctuation UIdeo Unified_Ideograph VS Variation_Selector White_Space XIDC XIDS XID_Continue ' +
    'XID_Start Anatolian_Hieroglyphs Bassa_Vah Canadian_Aboriginal Caucasian_Albanian Cypro_Minoan ' +
    'Dives_Akuru Egyptian_Hieroglyphs Gunjala_Gondi Hanifi_Rohingya Imperial_Aramaic Inscriptional_Pahlavi ' +
    'Inscriptional_Parthian Khitan_Small_Script Linear_A Linear_B Masaram_Gondi Meetei_Mayek Mende_Kikakui ' +
    'Meroitic_Cursive Meroitic_Hieroglyphs New_Tai_Lue Nyiakeng_Puachue_Hmong Ol_Chiki Old_Hungarian ' +
    'Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic ' +
    'Old_Uyghur Pahawh_Hmong Pau_Cin_Hau Phags_Pa Psalter_Pahlavi SignWriting Sora_Sompeng Syloti_Nagri ' +
    'Tai_Le Tai_Tham Tai_Viet Warang_Citi Zanabazar_Square'
  const entries = names.split(' ').map((name) => [name.replaceAll('_', '').toLowerCase(), name] as const)
  return new Map([...entries, ['wspace', 'White_Space']])
})

function isProperty(property: string): boolean {
  if (!/^[\w=]+$/.test(property)) return false
  try {
    new RegExp(`\\p{${property}}`, 'u')
    return true
  } catch {
    return false
  }
}
