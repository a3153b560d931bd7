import type { Random } from '../support/random.ts'
import type { HttpClient } from './client.ts'
import type { Options } from './options.ts'
import type { Person } from './people.ts'
import type { StoredLedger } from './stored.ts'
import type { Tally } from './tally.ts'

/** What all traffic shares. */
export interface World {
  readonly options: Options
  /** Client of the current gateway. */
  readonly client: HttpClient
  readonly people: readonly Person[]
  /** A user whose requests all go to a failing provider. */
  readonly unlucky: Person
  readonly chance: Random
  readonly tally: Tally
  readonly stored: StoredLedger
  nonce(): string
  /** Number of gateway starts. Requests that span a restart may fail. */
  life(): number
}

/** A kind of request, or of a few related ones. `weight` is its share of the traffic. */
export interface Kind {
  readonly name: string
  readonly weight: number
  /** Returns the outcome in a few words; throws if it is unexpected. */
  run(world: World): Promise<string>
}
