import { type AssertionKind, childrenOf, fixedWidthOf, type Node, type Quantifier, someNode } from './ast.ts'
import { formatSet } from './to-regexp.ts'

/** A pattern as instructions for `runProgram`, which gives PCRE's results where no other engine does. */
export interface Program {
  readonly instructions: readonly Instruction[]
  readonly groupCount: number
  /** Registers: the start of the match, start and end of each group, and what loops and groups need. */
  readonly registerCount: number
}

type CharacterTest = (code: number) => boolean

type Instruction =
  | { readonly op: 'character'; readonly test: CharacterTest }
  /** A repeated single character, as often as possible; without `isPossessive` it gives back one by one. */
  | {
      readonly op: 'run'
      readonly test: CharacterTest
      readonly min: number
      readonly max: number
      readonly isPossessive: boolean
    }
  | { readonly op: 'grapheme' }
  | { readonly op: 'assert'; readonly kind: AssertionKind }
  | { readonly op: 'back-reference'; readonly index: number; readonly caseless: boolean }
  | { readonly op: 'group-test'; readonly index: number; readonly negated: boolean }
  | { readonly op: 'recursion-test'; readonly called: number | undefined; readonly negated: boolean }
  | { readonly op: 'jump'; to: number }
  /** Goes on, and at `to` if that fails. */
  | { readonly op: 'try'; to: number }
  | { readonly op: 'set-register'; readonly register: number; readonly value: 'position' | 0 }
  | { readonly op: 'close-group'; readonly index: number; readonly opened: number }
  /** The head of a loop: `counter` counts its iterations, the next register holds where one began. */
  | {
      readonly op: 'loop'
      readonly counter: number
      readonly min: number
      readonly max: number
      readonly isLazy: boolean
      exit: number
    }
  /** The end of an iteration. An empty one ends a loop without maximum, as in PCRE. */
  | {
      readonly op: 'next-iteration'
      readonly counter: number
      readonly min: number
      readonly max: number
      readonly head: number
    }
  /** Calls and returns from a group, `(?1)`. */
  | { readonly op: 'call'; readonly index: number; to: number }
  | { readonly op: 'return' }
  /** Starts a part that is not backtracked into once it has ended with `commit`. */
  | { readonly op: 'begin'; readonly isLookAround: boolean }
  | { readonly op: 'commit'; readonly restoresPosition: boolean }
  /** Starts a negative look-around, which goes on at `to` unless it reaches its `reject`. */
  | { readonly op: 'begin-negated'; to: number }
  | { readonly op: 'reject' }
  /** Moves back, for a look-behind. */
  | { readonly op: 'back'; readonly count: number }
  | { readonly op: 'fail' }
  /**
   * `(*PRUNE)`, `(*SKIP)` and `(*COMMIT)`: backtracking past it gives up this start, goes on with a start
   * here, or gives up the search.
   */
  | { readonly op: 'prune' }
  | { readonly op: 'skip' }
  | { readonly op: 'give-up' }
  /** `(*THEN)`: backtracking past it goes on with the next branch of the alternation that began last. */
  | { readonly op: 'then' }
  | { readonly op: 'begin-branch' }
  | { readonly op: 'end-mark' }
  | { readonly op: 'match' }

/** The register of the start of the match, which `\K` sets. */
export const MATCH_START = 0

/** The register of the start of a group; its end is the next one. */
export function groupRegister(index: number): number {
  return 2 * index - 1
}

/** Whether a character matches a character or set of a pattern. */
function characterTest(node: Extract<Node, { readonly type: 'character' | 'set' }>): CharacterTest {
  if (node.type === 'character') {
    const { code } = node
    return (other) => other === code
  }
  const regex = new RegExp(`^${formatSet(node.items, node.negated)}$`, 'u')
  const matches = (code: number) => regex.test(String.fromCodePoint(code))
  const ascii = Array.from({ length: 128 }, (_, code) => matches(code))
  return (code) => ascii[code] ?? matches(code)
}

/** Compiles a pattern, with the bodies of the groups that it calls; group 0 is the whole pattern. */
export function compileProgram(root: Node, groupBodies: ReadonlyMap<number, Node>): Program {
  const groupCount = highestGroup(root, groupBodies)
  return { groupCount, ...new ProgramCompiler(groupCount).compile(root, groupBodies) }
}

function highestGroup(root: Node, groupBodies: ReadonlyMap<number, Node>): number {
  let highest = 0
  const visit = (node: Node): void => {
    if ('index' in node) highest = Math.max(highest, node.index)
    childrenOf(node).forEach(visit)
  }
  for (const node of [root, ...groupBodies.values()]) visit(node)
  return highest
}

interface AcceptScope {
  readonly openCount: number
  readonly markCount: number
  readonly jumps: { to: number }[]
}

class ProgramCompiler {
  private readonly instructions: Instruction[] = []
  private registerCount: number
  private readonly calls: { readonly index: number; readonly instruction: { to: number } }[] = []
  /** The groups that are open, with the register of their start, for `(*ACCEPT)`. */
  private readonly open: { readonly index: number; readonly register: number }[] = []
  /** What `(*ACCEPT)` ends: the pattern, a called group or a look-around. */
  private accept: AcceptScope = { openCount: 0, markCount: 0, jumps: [] }
  /** The number of parts and branches that have begun and not ended. */
  private markCount = 0

  constructor(highestIndex: number) {
    this.registerCount = groupRegister(highestIndex) + 2
  }

  compile(root: Node, groupBodies: ReadonlyMap<number, Node>): Omit<Program, 'groupCount'> {
    this.acceptingScope(() => this.emit(root))
    this.add({ op: 'match' })
    const entries = new Map<number, number>()
    // Compiling a called group can find further calls.
    for (const { index, instruction } of this.calls) {
      let entry = entries.get(index)
      if (entry === undefined) {
        entry = this.next
        entries.set(index, entry)
        this.acceptingScope(() => this.emit(index === 0 ? root : (groupBodies.get(index) ?? root)))
        this.add({ op: 'return' })
      }
      instruction.to = entry
    }
    return { instructions: this.instructions, registerCount: this.registerCount }
  }

  private get next(): number {
    return this.instructions.length
  }

  private add<Added extends Instruction>(instruction: Added): Added {
    this.instructions.push(instruction)
    return instruction
  }

  private allocate(count: number): number {
    const register = this.registerCount
    this.registerCount += count
    return register
  }

  private acceptingScope(emit: () => void): void {
    const outer = this.accept
    const scope: AcceptScope = { openCount: this.open.length, markCount: this.markCount, jumps: [] }
    this.accept = scope
    emit()
    for (const jump of scope.jumps) jump.to = this.next
    this.accept = outer
  }

  private emit(node: Node): void {
    switch (node.type) {
      case 'character':
      case 'set':
        this.add({ op: 'character', test: characterTest(node) })
        return
      case 'sequence':
        for (const part of node.parts) this.emit(part)
        return
      case 'alternation':
        this.emitAlternation(node.branches, node.isCondition)
        return
      case 'capture':
        this.emitCapture(node.index, node.body)
        return
      case 'quantifier':
        this.emitQuantifier(node)
        return
      case 'atomic':
        this.emitAtomic(() => this.emit(node.body))
        return
      case 'look-around':
        this.emitLookAround(node.body, node.behind, node.negated)
        return
      case 'assertion':
        this.add({ op: 'assert', kind: node.kind })
        return
      case 'back-reference':
        this.add({ op: 'back-reference', index: node.index, caseless: node.caseless })
        return
      case 'group-test':
        this.add({ op: 'group-test', index: node.index, negated: node.negated })
        return
      case 'recursion-test':
        this.add({ op: 'recursion-test', called: node.called, negated: node.negated })
        return
      case 'subroutine-call':
        this.calls.push({
          index: node.index,
          instruction: this.add({ op: 'call', index: node.index, to: 0 }),
        })
        return
      case 'keep':
        this.add({ op: 'set-register', register: MATCH_START, value: 'position' })
        return
      case 'grapheme':
        this.add({ op: 'grapheme' })
        return
      case 'verb':
        if (node.verb === 'accept') this.emitAccept()
        else this.add({ op: node.verb === 'commit' ? 'give-up' : node.verb })
        return
      default:
        node satisfies never
    }
  }

  private emitMarked(emit: () => void, count: number): void {
    this.markCount += count
    emit()
    this.markCount -= count
  }

  private emitAlternation(branches: readonly Node[], isCondition = false): void {
    const hasThen = !isCondition && branches.some((branch) => someNode(branch, isThen))
    const jumps: { to: number }[] = []
    for (const [index, branch] of branches.entries()) {
      const isLast = index === branches.length - 1
      const attempt = isLast ? undefined : this.add({ op: 'try', to: 0 })
      if (hasThen) this.add({ op: 'begin-branch' })
      this.emitMarked(() => this.emit(branch), hasThen ? 1 : 0)
      if (hasThen) this.add({ op: 'end-mark' })
      if (!isLast) jumps.push(this.add({ op: 'jump', to: 0 }))
      if (attempt !== undefined) attempt.to = this.next
    }
    for (const jump of jumps) jump.to = this.next
  }

  private emitCapture(index: number, body: Node): void {
    const register = this.allocate(1)
    this.open.push({ index, register })
    this.add({ op: 'set-register', register, value: 'position' })
    this.emit(body)
    this.open.pop()
    this.add({ op: 'close-group', index, opened: register })
  }

  private emitQuantifier(node: Quantifier): void {
    const { body, min, max, greediness } = node
    if (max === 0) return
    if (body.type === 'character' || body.type === 'set') {
      const isPossessive = greediness === 'possessive'
      if (greediness !== 'lazy') {
        this.add({ op: 'run', test: characterTest(body), min, max, isPossessive })
        return
      }
    }
    if (greediness === 'possessive') this.emitAtomic(() => this.emitLoop(node))
    else if (min === 0 && max === 1) this.emitOptional(body, greediness === 'lazy')
    else if (min === 1 && max === 1) this.emit(body)
    else this.emitLoop(node)
  }

  private emitOptional(body: Node, isLazy: boolean): void {
    const attempt = this.add({ op: 'try', to: 0 })
    if (isLazy) {
      const skip = this.add({ op: 'jump', to: 0 })
      attempt.to = this.next
      this.emit(body)
      skip.to = this.next
    } else {
      this.emit(body)
      attempt.to = this.next
    }
  }

  private emitLoop({ body, min, max, greediness }: Quantifier): void {
    const counter = this.allocate(2)
    this.add({ op: 'set-register', register: counter, value: 0 })
    const head = this.next
    const loop = this.add({ op: 'loop', counter, min, max, isLazy: greediness === 'lazy', exit: 0 })
    this.emit(body)
    this.add({ op: 'next-iteration', counter, min, max, head })
    loop.exit = this.next
  }

  private emitAtomic(emit: () => void): void {
    this.add({ op: 'begin', isLookAround: false })
    this.emitMarked(emit, 1)
    this.add({ op: 'commit', restoresPosition: false })
  }

  private emitLookAround(body: Node, behind: boolean, negated: boolean): void {
    const negation = negated ? this.add({ op: 'begin-negated', to: 0 }) : undefined
    if (negation === undefined) this.add({ op: 'begin', isLookAround: true })
    const emit = () => (behind ? this.emitBehind(body) : this.emit(body))
    this.emitMarked(() => this.acceptingScope(emit), 1)
    this.add(negated ? { op: 'reject' } : { op: 'commit', restoresPosition: true })
    if (negation !== undefined) negation.to = this.next
  }

  /** Every branch of a look-behind has a width of its own. */
  private emitBehind(body: Node): void {
    const branches = body.type === 'alternation' ? body.branches : [body]
    const jumps: { to: number }[] = []
    for (const [index, branch] of branches.entries()) {
      const isLast = index === branches.length - 1
      const attempt = isLast ? undefined : this.add({ op: 'try', to: 0 })
      this.add({ op: 'back', count: fixedWidthOf(branch) ?? 0 })
      this.emit(branch)
      if (!isLast) jumps.push(this.add({ op: 'jump', to: 0 }))
      if (attempt !== undefined) attempt.to = this.next
    }
    for (const jump of jumps) jump.to = this.next
  }

  /** Closes the open groups and ends the pattern, the called group or the look-around. */
  private emitAccept(): void {
    for (const { index, register } of this.open.slice(this.accept.openCount).toReversed())
      this.add({ op: 'close-group', index, opened: register })
    for (let count = this.accept.markCount; count < this.markCount; count++) this.add({ op: 'end-mark' })
    this.accept.jumps.push(this.add({ op: 'jump', to: 0 }))
  }
}

function isThen(node: Node): boolean {
  return node.type === 'verb' && node.verb === 'then'
}
