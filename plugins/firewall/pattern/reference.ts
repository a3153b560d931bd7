import { readOctal } from './escapes.ts'
import { PatternFault } from './fault.ts'
import { literal } from './literal.ts'
import { type Atom, type Reader, repeatable } from './reader.ts'

/** Reads a back-reference or a call that starts with a backslash, which is read already: `\1`, `\g{-1}`, `\k<n>`, `\g<n>`. */
export function readReference(reader: Reader): Atom {
  const { scanner } = reader
  const called = scanner.match(/g(?:<([^>]*)>|'([^']*)')/y)
  if (called !== undefined) return call(reader, called[1] ?? called[2] ?? '')
  const named = scanner.match(/k(?:<([^>]*)>|'([^']*)'|\{([^}]*)\})|g(?:\{([^}]*)\}|([-+]?\d+))/y)
  if (named !== undefined) return reference(reader, named.slice(1).find((name) => name !== undefined) ?? '')
  const number = scanner.match(/(?=(\d{1,5}))/y)?.[1]
  if (number === undefined) {
    throw new PatternFault(`\\${String.fromCodePoint(scanner.next())} cannot be evaluated`)
  }
  // What is no number of a group so far is an octal code.
  if (Number(number) >= 10 && /^[1-7]/.test(number) && Number(number) > reader.groups.count)
    return literal(readOctal(scanner) ?? 0, reader.options)
  scanner.take(number)
  return reference(reader, number)
}

/** A back-reference to the group of that number or name. */
export function reference({ groups, options }: Reader, name: string): Atom {
  return repeatable({ type: 'reference', index: groups.find(name), caseless: options.caseless })
}

/** A call of the group of that number or name. */
export function call({ groups }: Reader, name: string): Atom {
  if (/^(?:R|[-+]?0)$/.test(name)) throw new PatternFault('recursion cannot be evaluated')
  return repeatable({ type: 'call', index: groups.find(name) })
}
