import { PatternFault } from './pattern-error.ts'

/**
 * The capturing groups of a pattern, counted while it is read. A pattern that refers to groups is read twice, as it may
 * refer ahead.
 */
export class Groups {
  /** How many have been opened so far. */
  count = 0
  highest = 0
  private opened = 0
  /** Whether a reference was looked up. */
  wereAsked = false
  private readonly names = new Map<string, Set<number>>()
  private readonly known: Groups | undefined

  /** `known` is what the first reading found. */
  constructor(known?: Groups) {
    this.known = known
  }

  /** Numbers the next group and remembers its name. */
  open(name: string | undefined, duplicatesAllowed: boolean): number {
    this.opened += 1
    if (this.opened > MOST_GROUPS)
      throw new PatternFault(`it has more than ${MOST_GROUPS} groups that capture`)
    this.count += 1
    this.highest = Math.max(this.highest, this.count)
    if (name !== undefined) this.addName(name, duplicatesAllowed)
    return this.count
  }

  private addName(name: string, duplicatesAllowed: boolean): void {
    if (name.length > 32) throw new PatternFault('a group name is longer than 32 characters')
    const indexes = this.names.get(name) ?? new Set()
    if (indexes.size > 0 && !indexes.has(this.count) && !duplicatesAllowed)
      throw new PatternFault(`two groups are named ${name}`)
    this.names.set(name, indexes.add(this.count))
  }

  /** The number a reference means: `3`, `-1` (the last one opened), `+1` (the next one) or a name. */
  find(reference: string): number {
    this.wereAsked = true
    if (this.known === undefined) return 0
    const index = /^[-+]?\d+$/.test(reference) ? this.findNumber(reference) : this.known.findName(reference)
    if (index < 1 || index > this.known.highest) throw new PatternFault(`there is no group ${reference}`)
    return index
  }

  private findNumber(reference: string): number {
    const number = Number(reference)
    if (reference.startsWith('-')) return this.count + 1 + number
    return reference.startsWith('+') ? this.count + number : number
  }

  private findName(name: string): number {
    const [index = 0, ...others] = this.names.get(name) ?? []
    if (others.length > 0) throw new PatternFault(`more than one group is named ${name}`)
    return index
  }
}

const MOST_GROUPS = 250
