import type { Addresses } from '../client.ts'
import type { Ledger } from './ledger.ts'

/** Somebody who does one thing after the other, and knows what must come of it. */
export interface Actor {
  readonly name: string
  /** Between two deeds. */
  readonly everyMs: number
  readonly ledgers: readonly Ledger[]
  /** Does one thing and says what; throws when it did not come out as it should. */
  act(): Promise<string>
  /** Goes on at these addresses, and finds out what became of a deed that was not answered. */
  settle(addresses: Addresses): Promise<void>
  close(): Promise<void>
}
