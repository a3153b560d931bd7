import { equalsIgnoringCase } from './case-folding.ts'
import { MATCH_START } from './program.ts'

/** What is restored when the program backtracks. */
export interface State {
  readonly kind: 'resume' | 'give-back' | 'prune' | 'skip' | 'give-up' | 'then'
  readonly pc: number
  readonly position: number
  readonly registers: readonly number[]
  readonly marks: Mark | undefined
  readonly calls: Call | undefined
  /** `give-back`: the lowest position to resume from. `then`: the states to keep. */
  readonly limit: number
}

/** A part that is not backtracked into later, a branch of an alternation, or a call. */
export interface Mark {
  readonly height: number
  readonly position: number
  readonly kind: 'part' | 'branch' | 'look-around' | 'negated' | 'call'
  readonly outer: Mark | undefined
}

/** A call of a group. */
export interface Call {
  readonly returnTo: number
  readonly index: number
  readonly position: number
  readonly registers: readonly number[]
  readonly marks: Mark | undefined
  readonly outer: Call | undefined
}

const SCOPES: ReadonlySet<Mark['kind']> = new Set(['negated', 'call'])
const SCOPES_OF_THEN: ReadonlySet<Mark['kind']> = new Set([...SCOPES, 'branch', 'look-around'])

/** What a verb ends when it is backtracked onto; undefined for the attempt to match from this start. */
export function findScope(marks: Mark | undefined, isThen: boolean): Mark | undefined {
  const kinds = isThen ? SCOPES_OF_THEN : SCOPES
  for (let mark = marks; mark !== undefined; mark = mark.outer) if (kinds.has(mark.kind)) return mark
  return undefined
}

/** The number of states that remain. The one below a negative look-around goes on where it is true. */
export function heightOf({ kind, height }: Mark): number {
  return kind === 'negated' ? height + 1 : height
}

/** All groups are unset. */
export function initialRegisters(count: number, start: number): readonly number[] {
  const registers = new Array<number>(count).fill(-1)
  registers[MATCH_START] = start
  return registers
}

/** The registers with the start of the match that `\K` set. */
export function withMatchStart(registers: readonly number[], start: number): readonly number[] {
  if (registers[MATCH_START] === start) return registers
  const copy = registers.slice()
  copy[MATCH_START] = start
  return copy
}

/** The index of the character before a position. */
export function previousIndex(text: string, position: number): number {
  const isPair = position > 1 && (text.codePointAt(position - 2) ?? 0) > 0xffff
  return position - (isPair ? 2 : 1)
}

/** Where the text of a group ends if it is repeated at the position; undefined if it is not. */
export function endOfReference(
  text: string,
  start: number,
  end: number,
  position: number,
  caseless: boolean,
): number | undefined {
  if (!caseless) {
    const captured = text.slice(start, end)
    return text.startsWith(captured, position) ? position + captured.length : undefined
  }
  let next = position
  for (let index = start; index < end; ) {
    const expected = text.codePointAt(index) ?? 0
    const actual = text.codePointAt(next)
    if (actual === undefined || !equalsIgnoringCase(expected, actual)) return undefined
    index += expected > 0xffff ? 2 : 1
    next += actual > 0xffff ? 2 : 1
  }
  return next
}
