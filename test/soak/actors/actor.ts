import type { Addresses } from '../client.ts'
import type { Ledger } from './ledger.ts'

/** Performs one action at a time and checks its outcome. */
export interface Actor {
  readonly name: string
  /** Time between two actions. */
  readonly everyMs: number
  readonly ledgers: readonly Ledger[]
  /** Performs an action and returns its name; throws if the outcome is unexpected. */
  act(): Promise<string>
  /** Continues at these addresses, and finds out whether an unanswered action took effect. */
  settle(addresses: Addresses): Promise<void>
  close(): Promise<void>
}
