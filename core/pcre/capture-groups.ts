import { PatternError } from './pattern-error.ts'

const MAX_CAPTURING_GROUPS = 250
const MAX_NAME_LENGTH = 32

/**
 * Numbers and names the capturing groups of a pattern while it is parsed. A pattern with references is parsed
 * twice, because a reference may precede its group.
 */
export class CaptureGroups {
  /** The number of the group opened last; a branch reset sets it back. */
  count = 0
  highestIndex = 0
  /** Whether `resolve` was called, so that a second pass is needed. */
  hasReferences = false
  private openedCount = 0
  private readonly names = new Map<string, Set<number>>()
  private readonly firstPass: CaptureGroups | undefined

  /** `firstPass` holds the groups found by the first pass; it is undefined during the first pass itself. */
  constructor(firstPass?: CaptureGroups) {
    this.firstPass = firstPass
  }

  /** Returns the number of the next group and registers its name. Throws a `PatternError`. */
  open(name: string | undefined, duplicatesAllowed: boolean): number {
    this.openedCount += 1
    if (this.openedCount > MAX_CAPTURING_GROUPS)
      throw new PatternError(`The pattern has more than ${MAX_CAPTURING_GROUPS} capturing groups`)
    this.count += 1
    this.highestIndex = Math.max(this.highestIndex, this.count)
    if (name !== undefined) this.addName(name, duplicatesAllowed)
    return this.count
  }

  private addName(name: string, duplicatesAllowed: boolean): void {
    if (name.length > MAX_NAME_LENGTH)
      throw new PatternError(`A group name is longer than ${MAX_NAME_LENGTH} characters`)
    const indexes = this.names.get(name) ?? new Set()
    if (indexes.size > 0 && !indexes.has(this.count) && !duplicatesAllowed)
      throw new PatternError(`Two groups are named ${name}`)
    this.names.set(name, indexes.add(this.count))
  }

  /**
   * Returns the number of the group that a reference means: `3`, `-1` (the group opened last), `+1` (the next
   * one) or a name. Returns 0 during the first pass. Throws a `PatternError` if there is no such group.
   */
  resolve(reference: string): number {
    this.hasReferences = true
    if (this.firstPass === undefined) return 0
    const isNumber = /^[-+]?\d+$/.test(reference)
    const index = isNumber ? this.resolveNumber(reference) : this.firstPass.resolveName(reference)
    if (index < 1 || index > this.firstPass.highestIndex)
      throw new PatternError(`Group ${reference} does not exist`)
    return index
  }

  private resolveNumber(reference: string): number {
    const number = Number(reference)
    if (reference.startsWith('-')) return this.count + 1 + number
    return reference.startsWith('+') ? this.count + number : number
  }

  private resolveName(name: string): number {
    const [index = 0, ...others] = this.names.get(name) ?? []
    if (others.length > 0)
      throw new PatternError(`References to ${name} are not supported because several groups have this name`)
    return index
  }
}
