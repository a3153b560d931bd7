import { PatternError } from './pattern-error.ts'

/** Splits a pattern into its body and modifiers. A pattern without delimiters is read as `/…/i`. */
export function parseDelimiters(pattern: string): DelimitedPattern {
  const [, , body, modifiers] = pattern.match(DELIMITED) ?? []
  if (body !== undefined && modifiers !== undefined) return { body, modifiers }
  return parseBrackets(pattern) ?? { body: pattern, modifiers: 'i' }
}

interface DelimitedPattern {
  readonly body: string
  readonly modifiers: string
}

const DELIMITED = /^([/#~!@%;,|])(.*)\1([imsxuADUXJ]*)$/s

const CLOSING_BRACKETS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}', '<': '>' }

/**
 * A pair of brackets delimits a pattern only if modifiers follow it: `(foo)` is a plain pattern, and so is
 * `(?i)A`, whose content would not be a pattern.
 */
function parseBrackets(pattern: string): DelimitedPattern | undefined {
  const opening = pattern.charAt(0)
  const closing = CLOSING_BRACKETS[opening]
  const [, modifiers] = pattern.match(/[)\]}>]([imsxuADUXJ]+)$/) ?? []
  if (closing === undefined || modifiers === undefined || /^\([?*+]/.test(pattern)) return undefined
  const end = pattern.length - modifiers.length - 1
  let depth = 0
  for (let index = 0; index <= end; index++) {
    const character = pattern.charAt(index)
    if (character === '\\') index += 1
    else if (character === opening) depth += 1
    else if (character === closing) depth -= 1
    if (depth === 0) return index === end ? { body: pattern.slice(1, end), modifiers } : undefined
  }
  return undefined
}

/** Options that inline flags such as `(?i)` can change within a pattern. */
export interface PatternOptions {
  readonly caseless: boolean
  readonly multiline: boolean
  readonly dotAll: boolean
  readonly extended: boolean
  /** `xx`: spaces and tabs in character classes are ignored, too. */
  readonly extendedClasses: boolean
  readonly ungreedy: boolean
  readonly duplicateNames: boolean
  /** `n`: plain parentheses do not capture. */
  readonly namedCapturesOnly: boolean
}

/** Modes that apply to a whole pattern. */
export interface PatternModes {
  /** `u`: `\w`, `\d`, `\s`, `\b` and POSIX classes cover all of Unicode, as in PHP. */
  readonly unicode: boolean
  /** `D`: `$` matches only at the very end of the text. */
  readonly dollarEndOnly: boolean
  /** `A`: a match must start where the search starts. */
  readonly anchored: boolean
}

/** Parses the modifiers after the closing delimiter. `X` has no effect, as in current PHP. */
export function parseModifiers(modifiers: string): {
  readonly options: PatternOptions
  readonly modes: PatternModes
} {
  const has = (modifier: string) => modifiers.includes(modifier)
  return {
    options: {
      caseless: has('i'),
      multiline: has('m'),
      dotAll: has('s'),
      extended: has('x'),
      extendedClasses: false,
      ungreedy: has('U'),
      duplicateNames: has('J'),
      namedCapturesOnly: false,
    },
    modes: { unicode: has('u'), dollarEndOnly: has('D'), anchored: has('A') },
  }
}

/** Applies inline flags such as `i`, `im-s` or `^x`; `^` first clears `imnsx`. Throws a `PatternError`. */
export function applyInlineFlags(flags: string, options: PatternOptions): PatternOptions {
  const [, reset = '', on = '', off = ''] = flags.match(/^(\^?)([imsxnUJ]*)(?:-([imsxnUJ]*))?$/) ?? []
  if (reset + on + off !== flags.replace('-', '') || (reset !== '' && flags.includes('-')))
    throw new PatternError(`(?${flags}) is not a valid list of flags`)
  const cleared = reset === '' ? options : setFlags('imnsx', options, false)
  return setFlags(off, setFlags(on, cleared, true), false)
}

function setFlags(flags: string, options: PatternOptions, isOn: boolean): PatternOptions {
  const value = (flag: string, current: boolean) => (flags.includes(flag) ? isOn : current)
  return {
    caseless: value('i', options.caseless),
    multiline: value('m', options.multiline),
    dotAll: value('s', options.dotAll),
    extended: value('x', options.extended),
    extendedClasses: flags.includes('x') ? isOn && flags.includes('xx') : options.extendedClasses,
    ungreedy: value('U', options.ungreedy),
    duplicateNames: value('J', options.duplicateNames),
    namedCapturesOnly: value('n', options.namedCapturesOnly),
  }
}
