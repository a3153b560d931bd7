import { PatternFault } from './pattern-error.ts'

/** What inline flags can switch within a pattern. */
export interface Options {
  readonly caseless: boolean
  readonly multiline: boolean
  readonly dotAll: boolean
  readonly extended: boolean
  /** `xx`: spaces and tabs in classes are ignored, too. */
  readonly extendedClasses: boolean
  readonly ungreedy: boolean
  readonly duplicateNames: boolean
  /** `n`: plain parentheses do not capture. */
  readonly namedOnly: boolean
}

/** What holds for a whole pattern. */
export interface Modes {
  /** `u`: `\w`, `\d`, `\s`, `\b` and POSIX classes know all of Unicode, as in PHP. */
  readonly unicode: boolean
  /** `D`: `$` matches at the very end only. */
  readonly dollarAtEnd: boolean
  /** `A`: a match begins where the search begins. */
  readonly anchored: boolean
}

/** What the modifiers behind a pattern switch on; `X` changes nothing in today's PHP. */
export function readModifiers(modifiers: string): { readonly options: Options; readonly modes: Modes } {
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
      namedOnly: false,
    },
    modes: { unicode: has('u'), dollarAtEnd: has('D'), anchored: has('A') },
  }
}

/** The options after inline flags such as `i`, `im-s`, `^x` (which first clears `imnsx`). */
export function applyFlags(flags: string, options: Options): Options {
  const [, reset = '', on = '', off = ''] = flags.match(/^(\^?)([imsxnUJ]*)(?:-([imsxnUJ]*))?$/) ?? []
  if (reset + on + off !== flags.replace('-', '') || (reset !== '' && flags.includes('-')))
    throw new PatternFault(`(?${flags}) is not a list of flags`)
  const cleared = reset === '' ? options : switchFlags('imnsx', options, false)
  return switchFlags(off, switchFlags(on, cleared, true), false)
}

function switchFlags(flags: string, options: Options, on: boolean): Options {
  const value = (flag: string, before: boolean) => (flags.includes(flag) ? on : before)
  return {
    caseless: value('i', options.caseless),
    multiline: value('m', options.multiline),
    dotAll: value('s', options.dotAll),
    extended: value('x', options.extended),
    extendedClasses: flags.includes('x') ? on && flags.includes('xx') : options.extendedClasses,
    ungreedy: value('U', options.ungreedy),
    duplicateNames: value('J', options.duplicateNames),
    namedOnly: value('n', options.namedOnly),
  }
}

/** The pattern between its delimiters and the modifiers behind them; without delimiters it reads as `/…/i`. */
export function readDelimiters(pattern: string): { readonly body: string; readonly modifiers: string } {
  const [, , body = pattern, modifiers = 'i'] = pattern.match(DELIMITED) ?? []
  return { body, modifiers }
}

const DELIMITED = /^([/#~!@%;,|])(.*)\1([imsxuADUXJ]*)$/s
