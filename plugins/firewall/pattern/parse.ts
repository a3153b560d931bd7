import { readAtom } from './atom.ts'
import { PatternFault } from './fault.ts'
import { Groups } from './groups.ts'
import { skipIgnored } from './ignored.ts'
import { type Modes, type Options, readModifiers } from './options.ts'
import { readQuantifier } from './quantifier.ts'
import type { Reader } from './reader.ts'
import { Scanner } from './scanner.ts'
import { choice, type Node, sequence } from './syntax.ts'

/** A pattern that has been read. */
export interface Parsed {
  readonly root: Node
  /** The bodies of the capturing groups, for calls such as `(?1)`. */
  readonly bodies: ReadonlyMap<number, Node>
}

/** Reads the PCRE pattern `body`; throws a `PatternFault` for what is malformed or known to be out of reach. */
export function parsePattern(body: string, modifiers: string): Parsed {
  const { options, modes } = readModifiers(modifiers)
  const groups = new Groups()
  const draft = readPattern(body, options, modes, groups)
  return groups.wereAsked ? readPattern(body, options, modes, new Groups(groups)) : draft
}

const DEEPEST = 250

function readPattern(body: string, options: Options, modes: Modes, groups: Groups): Parsed {
  let depth = 0
  const scanner = new Scanner(body)
  const reader: Reader = {
    scanner,
    groups,
    modes: { ...modes, unicode: readStartVerbs(scanner) || modes.unicode },
    options,
    quoting: false,
    bodies: new Map(),
    readChoice(reset = false) {
      depth += 1
      if (depth > DEEPEST) throw new PatternFault(`groups are nested deeper than ${DEEPEST}`)
      const outer = reader.options
      const branches = readBranches(reader, reset)
      reader.options = outer
      depth -= 1
      return choice(branches)
    },
  }
  const root = reader.readChoice()
  if (!scanner.atEnd) throw new PatternFault('there is a ) too many')
  const start: Node = { type: 'assertion', kind: 'search-start' }
  return { root: modes.anchored ? sequence([start, root]) : root, bodies: reader.bodies }
}

/** Steps over `(*UTF)` and `(*UCP)`; true if the latter is among them. */
function readStartVerbs(scanner: Scanner): boolean {
  return scanner.match(/(?:\(\*(?:UTF8?|UCP)\))+/y)?.[0].includes('UCP') ?? false
}

function readBranches(reader: Reader, reset: boolean): readonly Node[] {
  const { groups, scanner } = reader
  const start = groups.count
  const branches: Node[] = []
  let highest = start
  do {
    if (reset) groups.count = start
    branches.push(readSequence(reader))
    highest = Math.max(highest, groups.count)
  } while (scanner.take('|'))
  groups.count = highest
  return branches
}

function readSequence(reader: Reader): Node {
  const { scanner } = reader
  const parts: Node[] = []
  for (;;) {
    skipIgnored(reader)
    if (scanner.atEnd || (!reader.quoting && (scanner.sees('|') || scanner.sees(')')))) break
    parts.push(readQuantifier(reader, readAtom(reader)))
  }
  return sequence(parts)
}
