import { PatternFault } from './fault.ts'
import type { Scanner } from './scanner.ts'

const CONTROL_LETTERS: Readonly<Record<string, number>> = { a: 7, e: 27, f: 12, n: 10, r: 13, t: 9 }

/**
 * Reads an escape that stands for one character, the backslash being read already: `\n`, `\x41`, `\x{1F600}`, `\o{101}`,
 * `\cA`, `\0`, `\N{U+41}`, and any escaped character that is no ASCII letter or digit.
 */
export function readCharacterEscape(scanner: Scanner): number | undefined {
  if (scanner.atEnd) throw new PatternFault('it ends with a backslash')
  const letter = scanner.match(/[aefnrt]/y)
  if (letter !== undefined) return CONTROL_LETTERS[letter[0]]
  if (scanner.sees('x') || scanner.sees('o') || scanner.sees('N{U+')) return readCode(scanner)
  if (scanner.take('c')) return readControl(scanner)
  const octal = scanner.match(/0[0-7]{0,2}/y)
  if (octal !== undefined) return Number.parseInt(octal[0], 8)
  return scanner.match(/(?=[A-Za-z0-9])/y) === undefined ? scanner.next() : undefined
}

/** Reads up to three octal digits where they are no reference. */
export function readOctal(scanner: Scanner): number | undefined {
  const digits = scanner.match(/[0-7]{1,3}/y)
  return digits && Number.parseInt(digits[0], 8)
}

function readCode(scanner: Scanner): number {
  const braced = scanner.match(/x\{([0-9A-Fa-f]+)\}|N\{U\+([0-9A-Fa-f]+)\}|o\{([0-7]+)\}/y)
  const [, hex, name, octal] = braced ?? []
  if (octal !== undefined) return checkCode(Number.parseInt(octal, 8))
  if (hex !== undefined || name !== undefined) return checkCode(Number.parseInt(hex ?? name ?? '', 16))
  if (!scanner.sees('x') || scanner.sees('x{')) throw new PatternFault('a character code is malformed')
  return Number.parseInt(`0${scanner.match(/x([0-9A-Fa-f]{0,2})/y)?.[1] ?? ''}`, 16)
}

function checkCode(code: number): number {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    throw new PatternFault(`${code.toString(16)} is no Unicode character`)
  return code
}

function readControl(scanner: Scanner): number {
  const key = scanner.match(/[ -~]/y)?.[0]
  if (key === undefined) throw new PatternFault('\\c needs a printable ASCII character')
  return key.toUpperCase().charCodeAt(0) ^ 0x40
}
