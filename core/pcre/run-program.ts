import { isAssertionTrue } from './assertions.ts'
import { endOfGrapheme } from './grapheme.ts'
import { groupRegister, MATCH_START, type Program } from './program.ts'
import {
  type Call,
  endOfReference,
  findScope,
  heightOf,
  initialRegisters,
  type Mark,
  previousIndex,
  type State,
  withMatchStart,
} from './program-state.ts'

/** Where a search starts, which `\G` and empty matches refer to. */
interface SearchOptions {
  readonly text: string
  readonly searchStart: number
  /** An empty match where the search starts does not count. */
  readonly skipsEmptyAtStart: boolean
}

export type ProgramOutcome =
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
  const states: State[] = []
  const maxStates = Math.min(MAX_STATES, MAX_KEPT_REGISTERS / registerCount)
  let pc = 0
  let position = start
  let marks: Mark | undefined
  let calls: Call | undefined
  let registers: readonly number[] = initialRegisters(registerCount, start)
  let isFailed = false

  const push = (kind: State['kind'], to: number, limit: number): void => {
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
