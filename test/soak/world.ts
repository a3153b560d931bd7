import type { Random } from '../support/random.ts'
import type { HttpClient } from './client.ts'
import type { Options } from './options.ts'
import type { Person } from './people.ts'
import type { StoredLedger } from './stored.ts'
import type { Tally } from './tally.ts'

/** What everybody who makes traffic works with. */
export interface World {
  readonly options: Options
  /** Of the gateway that runs now. */
  readonly client: HttpClient
  readonly people: readonly Person[]
  /** A user whose requests all go to a provider that fails. */
  readonly unlucky: Person
  readonly chance: Random
  readonly tally: Tally
  readonly stored: StoredLedger
  nonce(): string
  /** Counts the starts of the gateway. What begins in one life and ends in another may fail. */
  life(): number
}

/** One sort of request, or a few that belong together. `weight` is its share among all. */
export interface Kind {
  readonly name: string
  readonly weight: number
  /** What came of it, in a few words; throws when that is not what should have come of it. */
  run(world: World): Promise<string>
}
