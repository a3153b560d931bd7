import { PatternError } from './pattern-error.ts'

/** What inline flags can switch within a pattern. */
export interface PatternOptions {
  readonly caseless: boolean
  readonly multiline: boolean
  readonly dotAll: boolean
  readonly extended: boolean
  /** `xx`: spaces and tabs in classes are ignored, too. */
  readonly extendedClasses: boolean
  readonly ungreedy: boolean
  readonly duplicateNames: boolean
  /** `n`: plain parentheses do not capture. */
  readonly namedCapturesOnly: boolean
}

/** What holds for a whole pattern. */
export interface PatternModes {
  /** `u`: `\w`, `\d`, `\s`, `\b` and POSIX classes know all of Unicode, as in PHP. */
  readonly unicode: boolean
  /** `D`: `$` matches at the very end only. */
  readonly dollarEndOnly: boolean
  /** `A`: a match begins where the search begins. */
  readonly anchored: boolean
}

/** What the modifiers behind a pattern switch on; `X` changes nothing in today's PHP. */
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

/** The options after inline flags such as `i`, `im-s`, `^x` (which first clears `imnsx`). */
export function applyInlineFlags(flags: string, options: PatternOptions): PatternOptions {
  const [, reset = '', on = '', off = ''] = flags.match(/^(\^?)([imsxnUJ]*)(?:-([imsxnUJ]*))?$/) ?? []
  if (reset + on + off !== flags.replace('-', '') || (reset !== '' && flags.includes('-')))
    throw new PatternError(`(?${flags}) is not a list of flags`)
  const cleared = reset === '' ? options : setFlags('imnsx', options, false)
  return setFlags(off, setFlags(on, cleared, true), false)
}

function setFlags(flags: string, options: PatternOptions, on: boolean): PatternOptions {
  const value = (flag: string, before: boolean) => (flags.includes(flag) ? on : before)
  return {
    caseless: value('i', options.caseless),
    multiline: value('m', options.multiline),
    dotAll: value('s', options.dotAll),
    extended: value('x', options.extended),
    extendedClasses: flags.includes('x') ? on && flags.includes('xx') : options.extendedClasses,
    ungreedy: value('U', options.ungreedy),
    duplicateNames: value('J', options.duplicateNames),
    namedCapturesOnly: value('n', options.namedCapturesOnly),
  }
}

/** The pattern between its delimiters and the modifiers behind them; without delimiters it reads as `/…/i`. */
export function parseDelimiters(pattern: string): { readonly body: string; readonly modifiers: string } {
  const [, , body = pattern, modifiers = 'i'] = pattern.match(DELIMITED) ?? []
  return { body, modifiers }
}

const DELIMITED = /^([/#~!@%;,|])(.*)\1([imsxuADUXJ]*)$/s
