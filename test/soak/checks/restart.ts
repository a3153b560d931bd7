import { ADMIN_KEY } from '../../support/gateway.ts'
import type { HttpClient, Loose } from '../client.ts'
import { mustBe } from '../expect.ts'
import { readAudit } from './audit.ts'
import type { Check } from './check.ts'

/** Everything that can be read about users, keys, rules and their history, by request. */
export type State = ReadonlyMap<string, string>

export async function readState(client: HttpClient, keys: readonly string[]): Promise<State> {
  const state = new Map<string, string>()
  const note = (what: string, value: Loose) => state.set(what, JSON.stringify(value))
  const users = await client.ask({ path: '/admin/users', key: ADMIN_KEY })
  mustBe(users, 200)
  note('users', users.body)
  for (const [n, key] of keys.entries()) {
    for (const kind of ['routing', 'firewall']) {
      const list = await client.ask({ path: `/v1/${kind}-rules`, key })
      // Users on the free plan cannot list rules.
      mustBe(list, 200, 403)
      note(`${kind} rules of the user with key ${n}`, list.body)
    }
    note(`audit of the user with key ${n}`, await readAudit(client, key))
  }
  return state
}

/** The state after a restart equals the state before it. */
export function compareStates(before: State, after: State): Check {
  const faults = [...before]
    .filter(([what, value]) => after.get(what) !== value)
    .map(([what, value]) => `${what}: ${differenceOf(value, after.get(what) ?? '')}`)
  return { name: 'the state is the same after a restart', found: `${before.size} answers compared`, faults }
}

function differenceOf(before: string, after: string): string {
  let at = 0
  while (at < before.length && before[at] === after[at]) at++
  const from = Math.max(0, at - 60)
  return `"…${before.slice(from, at + 120)}…" became "…${after.slice(from, at + 120)}…"`
}
