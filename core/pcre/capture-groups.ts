import { PatternError } from './pattern-error.ts'

/**
 * The capturing groups of a pattern, counted while it is read. A pattern that refers to groups is read twice, as it may
 * refer ahead.
 */
export class CaptureGroups {
  /** How many have been opened so far. */
  count = 0
  highestIndex = 0
  private openedCount = 0
  /** Whether a reference was looked up. */
  hasReferences = false
  private readonly names = new Map<string, Set<number>>()
  private readonly firstPass: CaptureGroups | undefined

  /** `known` is what the first reading found. */
  constructor(known?: CaptureGroups) {
    this.firstPass = known
  }

  /** Numbers the next group and remembers its name. */
  open(name: string | undefined, duplicatesAllowed: boolean): number {
    this.openedCount += 1
    if (this.openedCount > MAX_CAPTURING_GROUPS)
      throw new PatternError(`it has more than ${MAX_CAPTURING_GROUPS} groups that capture`)
    this.count += 1
    this.highestIndex = Math.max(this.highestIndex, this.count)
    if (name !== undefined) this.addName(name, duplicatesAllowed)
    return this.count
  }

  private addName(name: string, duplicatesAllowed: boolean): void {
    if (name.length > 32) throw new PatternError('a group name is longer than 32 characters')
    const indexes = this.names.get(name) ?? new Set()
    if (indexes.size > 0 && !indexes.has(this.count) && !duplicatesAllowed)
      throw new PatternError(`two groups are named ${name}`)
    this.names.set(name, indexes.add(this.count))
  }

  /** The number a reference means: `3`, `-1` (the last one opened), `+1` (the next one) or a name. */
  resolve(reference: string): number {
    this.hasReferences = true
    if (this.firstPass === undefined) return 0
    const index = /^[-+]?\d+$/.test(reference)
      ? this.findNumber(reference)
      : this.firstPass.findName(reference)
    if (index < 1 || index > this.firstPass.highestIndex)
      throw new PatternError(`there is no group ${reference}`)
    return index
  }

  private findNumber(reference: string): number {
    const number = Number(reference)
    if (reference.startsWith('-')) return this.count + 1 + number
    return reference.startsWith('+') ? this.count + number : number
  }

  private findName(name: string): number {
    const [index = 0, ...others] = this.names.get(name) ?? []
    if (others.length > 0) throw new PatternError(`more than one group is named ${name}`)
    return index
  }
}

const MAX_CAPTURING_GROUPS = 250
