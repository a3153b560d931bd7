import type { AssertionKind } from './ast.ts'
import { equalsIgnoringCase } from './case-folding.ts'
import { groupRegister, MATCH_START, type Program } from './compile-program.ts'
import { lazy } from './lazy.ts'

/** Whether an assertion is true at a position of a text. */
function isAssertionTrue(kind: AssertionKind, text: string, position: number, searchStart: number): boolean {
  switch (kind) {
    case 'text-start':
      return position === 0
    case 'text-end':
      return position === text.length
    case 'text-end-or-newline':
      return position === text.length || (position === text.length - 1 && text[position] === '\n')
    case 'line-start':
      return position === 0 || (text[position - 1] === '\n' && position < text.length)
    case 'line-end':
      return position === text.length || text[position] === '\n'
    case 'search-start':
      return position === searchStart
    case 'word-boundary':
      return isBoundary(WORD, text, position)
    case 'not-word-boundary':
      return !isBoundary(WORD, text, position)
    case 'unicode-word-boundary':
      return isBoundary(UNICODE_WORD, text, position)
    case 'not-unicode-word-boundary':
      return !isBoundary(UNICODE_WORD, text, position)
    default:
      return kind satisfies never
  }
}

const WORD = /^[0-9A-Za-z_]$/
const UNICODE_WORD = /^[\p{L}\p{N}_]$/u

function isBoundary(word: RegExp, text: string, position: number): boolean {
  const after = String.fromCodePoint(text.codePointAt(position) ?? 0)
  const pair = text.slice(Math.max(0, position - 2), position)
  const before = (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1)
  return word.test(before) !== word.test(after)
}

const segmenter = lazy(() => new Intl.Segmenter('en', { granularity: 'grapheme' }))

const REGIONAL_INDICATORS = /(?:[\u{1f1e6}-\u{1f1ff}])+$/u

/** UTF-16 units in which nearly every grapheme cluster ends. */
const WINDOW = 64

/** ASCII, of which only CR and LF form a cluster together. */
function isPlain(text: string, index: number): boolean {
  return text.charCodeAt(index) < 0x80 && text[index] !== '\r'
}

/** The index after the extended grapheme cluster that starts at `from`, for `\X`. */
function endOfGrapheme(text: string, from: number): number {
  if (isPlain(text, from) && (from + 1 === text.length || isPlain(text, from + 1))) return from + 1
  // A flag is two regional indicators, counted from the first one of a row.
  const before = REGIONAL_INDICATORS.exec(text.slice(Math.max(0, from - WINDOW), from))?.[0].length ?? 0
  if (before % 4 === 2 && /^[\u{1f1e6}-\u{1f1ff}]{2}/u.test(text.slice(from, from + 4))) return from + 2
  for (let length = WINDOW; ; length *= 4) {
    const slice = text.slice(from, from + length)
    const [first] = segmenter().segment(slice)
    const end = first?.segment.length ?? 0
    if (end < slice.length || from + length >= text.length) return from + end
  }
}

/** What is restored when the program backtracks. */
interface BacktrackPoint {
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
interface Mark {
  readonly height: number
  readonly position: number
  readonly kind: 'part' | 'branch' | 'look-around' | 'negated' | 'call'
  readonly outer: Mark | undefined
}

/** A call of a group. */
interface Call {
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
function findScope(marks: Mark | undefined, isThen: boolean): Mark | undefined {
  const kinds = isThen ? SCOPES_OF_THEN : SCOPES
  for (let mark = marks; mark !== undefined; mark = mark.outer) if (kinds.has(mark.kind)) return mark
  return undefined
}

/** The number of states that remain. The one below a negative look-around goes on where it is true. */
function heightOf({ kind, height }: Mark): number {
  return kind === 'negated' ? height + 1 : height
}

/** All groups are unset. */
function initialRegisters(count: number, start: number): readonly number[] {
  const registers = new Array<number>(count).fill(-1)
  registers[MATCH_START] = start
  return registers
}

/** The registers with the start of the match that `\K` set. */
function withMatchStart(registers: readonly number[], start: number): readonly number[] {
  if (registers[MATCH_START] === start) return registers
  const copy = registers.slice()
  copy[MATCH_START] = start
  return copy
}

/** The index of the character before a position. */
function previousIndex(text: string, position: number): number {
  const isPair = position > 1 && (text.codePointAt(position - 2) ?? 0) > 0xffff
  return position - (isPair ? 2 : 1)
}

/** Where the text of a group ends if it is repeated at the position; undefined if it is not. */
function endOfReference(
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

/** Where a search starts, which `\G` and empty matches refer to. */
interface SearchOptions {
  readonly text: string
  readonly searchStart: number
  /** An empty match where the search starts does not count. */
  readonly skipsEmptyAtStart: boolean
}

type ProgramOutcome =
  | { readonly registers: readonly number[]; readonly end: number }
  /** No match from here. `(*SKIP)` names the next position to start from; infinity gives up the search. */
  | { readonly skipTo: number | undefined }

/** Most states share their registers with others; this many do not fill the heap if none does. */
const MAX_KEPT_REGISTERS = 20_000_000
const MAX_STATES = 1_000_000

/**
 * Runs a program from a position of the text. Throws a `RangeError` if it needs too many states, or calls a
 * group that calls itself without end.
 */
export function runProgram(
  { instructions, registerCount }: Program,
  start: number,
  { text, searchStart, skipsEmptyAtStart }: SearchOptions,
): ProgramOutcome {
  const states: BacktrackPoint[] = []
  const maxStates = Math.min(MAX_STATES, MAX_KEPT_REGISTERS / registerCount)
  let pc = 0
  let position = start
  let marks: Mark | undefined
  let calls: Call | undefined
  let registers: readonly number[] = initialRegisters(registerCount, start)
  let isFailed = false

  const push = (kind: BacktrackPoint['kind'], to: number, limit: number): void => {
    if (states.length >= maxStates) throw new RangeError('the pattern needs too much memory')
    states.push({ kind, pc: to, position, registers, marks, calls, limit })
  }
  const setRegisters = (first: number, ...values: readonly number[]): void => {
    const copy = registers.slice()
    for (const [index, value] of values.entries()) copy[first + index] = value
    registers = copy
  }

  for (;;) {
    if (isFailed) {
      const state = states.pop()
      if (state === undefined || state.kind === 'prune') return { skipTo: undefined }
      if (state.kind === 'skip') return { skipTo: state.position }
      if (state.kind === 'give-up') return { skipTo: Infinity }
      if (state.kind === 'then') {
        states.length = state.limit
        continue
      }
      ;({ pc, position, registers, marks, calls } = state)
      if (state.kind === 'give-back' && position > state.limit) {
        const before = previousIndex(text, position)
        states.push({ ...state, position: before })
      }
      isFailed = false
    }
    const instruction = instructions[pc]
    if (instruction === undefined) throw new Error('the program has no such instruction')
    pc += 1
    switch (instruction.op) {
      case 'character': {
        const code = text.codePointAt(position)
        if (code !== undefined && instruction.test(code)) position += code > 0xffff ? 2 : 1
        else isFailed = true
        break
      }
      case 'run': {
        const { test, min, max, isPossessive } = instruction
        let count = 0
        let lowest = position
        while (count < max) {
          const code = text.codePointAt(position)
          if (code === undefined || !test(code)) break
          position += code > 0xffff ? 2 : 1
          count += 1
          if (count === min) lowest = position
        }
        if (count < min) isFailed = true
        else if (!isPossessive && position > lowest) {
          const end = position
          position = previousIndex(text, end)
          push('give-back', pc, lowest)
          position = end
        }
        break
      }
      case 'grapheme':
        if (position === text.length) isFailed = true
        else position = endOfGrapheme(text, position)
        break
      case 'assert':
        isFailed = !isAssertionTrue(instruction.kind, text, position, searchStart)
        break
      case 'back-reference': {
        const register = groupRegister(instruction.index)
        const end = registers[register + 1] ?? -1
        const next =
          end === -1
            ? undefined
            : endOfReference(text, registers[register] ?? 0, end, position, instruction.caseless)
        if (next === undefined) isFailed = true
        else position = next
        break
      }
      case 'group-test':
        isFailed = (registers[groupRegister(instruction.index) + 1] !== -1) === instruction.negated
        break
      case 'recursion-test': {
        const { called, negated } = instruction
        const isCalled = calls !== undefined && (called === undefined || calls.index === called)
        isFailed = isCalled === negated
        break
      }
      case 'jump':
        pc = instruction.to
        break
      case 'try':
        push('resume', instruction.to, 0)
        break
      case 'set-register':
        setRegisters(instruction.register, instruction.value === 0 ? 0 : position)
        break
      case 'close-group':
        setRegisters(groupRegister(instruction.index), registers[instruction.opened] ?? 0, position)
        break
      case 'loop': {
        const { counter, min, max, isLazy, exit } = instruction
        const count = registers[counter] ?? 0
        if (count >= max) pc = exit
        else {
          const outside = registers
          setRegisters(counter, count + 1, position)
          if (count < min) break
          if (isLazy) {
            push('resume', pc, 0)
            registers = outside
            pc = exit
          } else {
            const inside = registers
            registers = outside
            push('resume', exit, 0)
            registers = inside
          }
        }
        break
      }
      case 'next-iteration': {
        const { counter, min, max, head } = instruction
        const isEmpty = registers[counter + 1] === position
        const endsLoop = max === Infinity && isEmpty && (registers[counter] ?? 0) >= min
        if (!endsLoop) pc = head
        break
      }
      case 'call': {
        const { to, index } = instruction
        for (let call = calls; call?.position === position; call = call.outer)
          if (call.index === index) throw new RangeError('a group calls itself without end')
        calls = { returnTo: pc, index, position, registers, marks, outer: calls }
        marks = { height: states.length, position, kind: 'call', outer: marks }
        pc = to
        break
      }
      case 'return':
        if (calls === undefined) throw new Error('the program returns without a call')
        // `\K` in a called group counts.
        registers = withMatchStart(calls.registers, registers[MATCH_START] ?? 0)
        pc = calls.returnTo
        marks = calls.marks
        calls = calls.outer
        break
      case 'begin':
        marks = {
          height: states.length,
          position,
          kind: instruction.isLookAround ? 'look-around' : 'part',
          outer: marks,
        }
        break
      case 'commit':
        if (marks === undefined) throw new Error('the program ends a part that did not begin')
        states.length = marks.height
        if (instruction.restoresPosition) position = marks.position
        marks = marks.outer
        break
      case 'begin-negated': {
        const { length } = states
        push('resume', instruction.to, 0)
        marks = { height: length, position, kind: 'negated', outer: marks }
        break
      }
      case 'reject':
        states.length = marks?.height ?? 0
        isFailed = true
        break
      case 'back':
        for (let count = instruction.count; count > 0 && position >= 0; count--)
          position = position === 0 ? -1 : previousIndex(text, position)
        isFailed = position < 0
        break
      case 'begin-branch':
        marks = { height: states.length, position, kind: 'branch', outer: marks }
        break
      case 'end-mark':
        marks = marks?.outer
        break
      case 'then': {
        const scope = findScope(marks, true)
        if (scope === undefined) push('prune', pc, 0)
        else push('then', pc, heightOf(scope))
        break
      }
      case 'prune':
      case 'skip':
      case 'give-up': {
        const scope = findScope(marks, false)
        if (scope === undefined) push(instruction.op, pc, 0)
        else push('then', pc, heightOf(scope))
        break
      }
      case 'fail':
        isFailed = true
        break
      case 'match': {
        const from = registers[MATCH_START] ?? 0
        if (skipsEmptyAtStart && position === from && from === searchStart) isFailed = true
        else return { registers, end: position }
        break
      }
      default:
        instruction satisfies never
    }
  }
}
