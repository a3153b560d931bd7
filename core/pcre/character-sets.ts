import { lazy } from '../util/lazy.ts'
import type { Range, SetItem } from './ast.ts'
import { PatternFault } from './limits.ts'

/** The set of `\d`, `\W` and their like; ASCII unless `unicode`, as in PHP without and with `u`. */
export function shorthandSet(letter: string, unicode: boolean): readonly SetItem[] {
  const name = letter.toLowerCase()
  const items = (unicode ? UNICODE_SHORTHANDS[name] : undefined) ?? SHORTHANDS[name] ?? []
  return letter === name ? items : complementSet(items)
}

/** The set of a POSIX class such as `alpha`, which `caseless` widens where PHP does. */
export function posixSet(
  name: string,
  negated: boolean,
  mode: { readonly unicode: boolean; readonly caseless: boolean },
): readonly SetItem[] {
  const isCase = name === 'upper' || name === 'lower'
  const named = isCase && mode.caseless && !mode.unicode ? 'alpha' : name
  const items = (mode.unicode ? UNICODE_POSIX[named] : undefined) ?? POSIX[named]
  if (items === undefined) throw new PatternFault(`[:${name}:] is no POSIX class`)
  return negated ? complementSet(items) : items
}

/** Characters in one of these general categories; the one-letter ones hold their subcategories. */
function categorySet(...names: readonly string[]): readonly SetItem[] {
  return names.map((property) => ({ property, negated: false }))
}

/** Everything outside a set, where that is a plain union again. */
function complementSet(items: readonly SetItem[]): readonly SetItem[] {
  if (items === UNICODE_WORD) return UNICODE_NON_WORD
  if (items.every((item) => 'from' in item)) return complementRanges(items)
  const [first] = items
  if (items.length === 1 && first !== undefined && 'property' in first)
    return [{ ...first, negated: !first.negated }]
  const names = items.map((item) => ('property' in item && !item.negated ? item.property : ''))
  const all = [...(names.includes('L') ? ['L'] : LETTER_KINDS), ...OTHER_CATEGORIES]
  if (!names.every((name) => all.includes(name)))
    throw new PatternFault('this negated class cannot be evaluated with the modifier u')
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
/** `Pc` is written out without the underscore. */
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

/** `Cf` without the marks that PCRE does not count as graphic. */
const GRAPHIC_FORMATS: readonly Range[] = [
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
  punct: [...categorySet('P'), ...'$+<=>^`|~'.split('').map((symbol) => single(symbol.charCodeAt(0)))],
  space: UNICODE_SPACE,
  word: UNICODE_WORD,
}

/** The set of `\p{name}`: a general category, `L&`, `Any`, PCRE's own `X…`, a script or a binary property. */
export function propertySet(name: string, negated: boolean): readonly SetItem[] {
  const written = name.replace(/[\s_-]+/g, '_').replace(/^_|_$/g, '')
  const [, caret = '', plain = ''] = written.match(/^(\^?)_?(.*)$/s) ?? []
  const items = findSet(plain)
  if (items === undefined) throw new PatternFault(`\\p{${name}} is no known property`)
  return negated !== (caret !== '') ? complementSet(items) : items
}

const CATEGORIES =
  'C Cc Cf Cn Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs'.split(
    ' ',
  )

const COMPOUND: Readonly<Record<string, readonly SetItem[]>> = {
  any: [{ from: 0, to: 0x10ffff }],
  'l&': categorySet('Lu', 'Ll', 'Lt'),
  lc: categorySet('Lu', 'Ll', 'Lt'),
  xan: categorySet('L', 'N'),
  xwd: shorthandSet('w', true),
  xsp: shorthandSet('s', true),
  xps: shorthandSet('s', true),
}

function findSet(name: string): readonly SetItem[] | undefined {
  const lower = name.toLowerCase()
  const category = CATEGORIES.find((known) => known.toLowerCase() === lower)
  if (category !== undefined) return categorySet(category)
  return COMPOUND[lower] ?? findScript(lower) ?? findBinary(lower)
}

/** A bare script name means its extensions as well, as in PCRE2 since 10.40. */
function findScript(lower: string): readonly SetItem[] | undefined {
  const [, kind = '', script = ''] =
    lower.match(/^(?:(sc|script|scx|script_?extensions)_?[:=]_?)?(\w+)$/) ?? []
  const property = `${kind === 'sc' || kind === 'script' ? 'sc' : 'scx'}=${titleCase(script)}`
  return isProperty(property) ? categorySet(property) : undefined
}

function findBinary(lower: string): readonly SetItem[] | undefined {
  const name = lower === 'ascii' ? 'ASCII' : titleCase(lower)
  // JavaScript reads long category names such as `Letter` here, which PCRE does not know.
  return isProperty(name) && !isProperty(`gc=${name}`) ? categorySet(name) : undefined
}

function titleCase(name: string): string {
  return name.replace(/(^|_)[a-z]/g, (start) => start.toUpperCase())
}

function isProperty(property: string): boolean {
  if (!/^[\w=]+$/.test(property)) return false
  try {
    new RegExp(`\\p{${property}}`, 'u')
    return true
  } catch {
    return false
  }
}

/** Every code point that equals `code` when case is ignored (Unicode simple case folding), itself included. */
export function caseFormsOf(code: number): readonly number[] {
  return allForms().get(code) ?? [code]
}

/** The ranges together with every other case form of what is in them. */
export function closeOverCase(ranges: readonly Range[]): readonly Range[] {
  const others = mergeRanges(ranges).flatMap(casedWithin).flatMap(caseFormsOf).map(single)
  return others.length === 0 ? ranges : mergeRanges([...ranges, ...others])
}

function casedWithin({ from, to }: Range): readonly number[] {
  const forms = allForms()
  if (to - from > forms.size) return [...forms.keys()].filter((code) => from <= code && code <= to)
  return Array.from({ length: to - from + 1 }, (_, offset) => from + offset).filter((code) => forms.has(code))
}

const LAST_CASED = 0x1e943
const CASED = /^[\p{Changes_When_Casemapped}\p{Changes_When_Casefolded}]$/u
const SAME_LETTER = /^(.)\1$/iu

/** No API tells the forms of a letter, so they are found once, with the first pattern: some 2,900 letters in 10 ms. */
const allForms = lazy(findForms)

function findForms(): Map<number, number[]> {
  const found = new Map<number, number[]>()
  for (let code = 0x41; code <= LAST_CASED; code++) {
    const letter = String.fromCodePoint(code)
    if (!CASED.test(letter)) continue
    const upper = letter.toUpperCase()
    const lower = letter.toLowerCase()
    for (const other of [lower, upper, upper.toLowerCase(), lower.toUpperCase()]) {
      if (other !== letter && SAME_LETTER.test(letter + other))
        join(found, code, other.codePointAt(0) ?? code)
    }
  }
  return found
}

function join(found: Map<number, number[]>, one: number, other: number): void {
  const joined = [...new Set([...(found.get(one) ?? [one]), ...(found.get(other) ?? [other])])]
  for (const code of joined) found.set(code, joined)
}

const LAST_CODE_POINT = 0x10ffff

/** A range of one code point. */
export function single(code: number): Range {
  return { from: code, to: code }
}

/** The ranges between the characters of each pair, such as `'az'`; a lone character stands for itself. */
function rangesOf(...pairs: readonly string[]): readonly Range[] {
  return pairs.map((pair) => {
    const [from = 0, to = from] = [...pair].map((character) => character.codePointAt(0) ?? 0)
    return { from, to }
  })
}

/** In ascending order, without overlaps. */
function mergeRanges(ranges: readonly Range[]): readonly Range[] {
  const merged: Range[] = []
  for (const range of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1)
    if (last === undefined || range.from > last.to + 1) merged.push(range)
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, range.to) }
  }
  return merged
}

/** All code points outside the ranges. */
function complementRanges(ranges: readonly Range[]): readonly Range[] {
  const outside: Range[] = []
  let from = 0
  for (const range of mergeRanges(ranges)) {
    if (range.from > from) outside.push({ from, to: range.from - 1 })
    from = range.to + 1
  }
  if (from <= LAST_CODE_POINT) outside.push({ from, to: LAST_CODE_POINT })
  return outside
}
