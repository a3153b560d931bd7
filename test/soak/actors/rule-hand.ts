import { type Addresses, createClient, type Got, type HttpClient, type Loose } from '../client.ts'
import { firewall, type Person, routing } from '../people.ts'
import type { World } from '../world.ts'
import { type Ledger, noteChange } from './ledger.ts'
import { createRuleBook, type RuleBook, type RuleKind } from './rule-book.ts'

export const PATHS: Readonly<Record<RuleKind, string>> = {
  routing: '/v1/routing-rules',
  firewall: '/v1/firewall-rules',
}

/** A small number, so that the gateway's pattern cache soon contains all patterns. */
const PATTERNS = 60

/** A user with rules, a separate connection, and the expected state of the rules. */
export interface RuleHand {
  readonly world: World
  readonly person: Person
  readonly ledger: Ledger
  readonly book: RuleBook
  readonly client: () => HttpClient
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Got>
  /** Sends a request and records it in the ledger. */
  change(
    events: readonly string[],
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Got>
  anyKind(): RuleKind
  /** Returns the body of a new rule. */
  content(kind: RuleKind): Loose
  move(addresses: Addresses): Promise<void>
}

export function createRuleHand(world: World, person: Person, addresses: Addresses): RuleHand {
  const { chance } = world
  const ledger: Ledger = { who: `user ${person.id}`, key: person.key, entries: [] }
  // One connection, so that one worker serves all requests: it sees its own changes immediately.
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
