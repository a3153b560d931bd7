import { type Addresses, createClient, type Got, type HttpClient, type Loose } from '../client.ts'
import { firewall, type Person, routing } from '../people.ts'
import type { World } from '../world.ts'
import { type Ledger, noteChange } from './ledger.ts'
import { createRuleBook, type RuleBook, type RuleKind } from './rule-book.ts'

export const PATHS: Readonly<Record<RuleKind, string>> = {
  routing: '/v1/routing-rules',
  firewall: '/v1/firewall-rules',
}

/** So few that the gateway's cache of patterns is full of them soon. */
const PATTERNS = 60

/** Somebody with rules of their own, a connection of their own, and a book of what must be there. */
export interface RuleHand {
  readonly world: World
  readonly person: Person
  readonly ledger: Ledger
  readonly book: RuleBook
  readonly client: () => HttpClient
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Got>
  /** A call that is noted in the ledger. */
  change(
    events: readonly string[],
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Got>
  anyKind(): RuleKind
  /** What a new rule may be. */
  content(kind: RuleKind): Loose
  move(addresses: Addresses): Promise<void>
}

export function createRuleHand(world: World, person: Person, addresses: Addresses): RuleHand {
  const { chance } = world
  const ledger: Ledger = { who: `user ${person.id}`, key: person.key, entries: [] }
  // One connection, so that one worker does all: it sees its own changes at once, the others a moment later.
  let client = createClient(addresses, 1)
  const call: RuleHand['call'] = (method, path, body, headers = {}) =>
    client.ask({ method, path, key: person.key, headers, ...(body !== undefined && { body }) })

  return {
    world,
    person,
    ledger,
    book: createRuleBook(),
    client: () => client,
    call,
    change: (events, ...args) => noteChange(ledger, events, () => call(...args)),
    anyKind: () => chance.pick(['routing', 'firewall']),
    content(kind) {
      const n = chance.integer(PATTERNS)
      const priority = chance.integer(21) - 10
      const name = world.nonce()
      if (kind === 'routing')
        return routing(name, { contains: `platform ${n}q` }, { set_mode: 'cost' }, priority).data
      const pattern = `\\bfreight[- ]${n}q+\\b`
      return firewall(name, { type: 'regex', pattern, action: 'mask', replacement: `(${n})`, priority }).data
    },
    async move(next) {
      await client.close()
      client = createClient(next, 1)
    },
  }
}
