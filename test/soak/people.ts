import type { HttpClient, Loose } from './client.ts'
import { mustBe } from './expect.ts'

/** A user of the gateway whose rules apply to every request. */
export interface Person {
  readonly id: number
  readonly key: string
  readonly keyId: string
  /** Ids of the rules by action. */
  readonly rules: Readonly<Record<string, number>>
}

/** The words that a person's rules match. They are unique per person. */
export const wordOf = (what: string, { id }: Pick<Person, 'id'>) => `${what}${id}x`

export const MASKED = (person: Pick<Person, 'id'>) => `[hidden ${person.id}]`

export const PINNED_BY_RULE = 'gpt-4o-mini'

/** Additional rules of every person, which match nothing. */
const FILLERS = 10

export async function makePerson(client: HttpClient, adminKey: string, name: string): Promise<Person> {
  const user = await client.ask({ path: '/admin/users', key: adminKey, body: { name, plan: 'paid' } })
  mustBe(user, 201)
  const { id } = user.body.data
  const key = await client.ask({ method: 'POST', path: `/admin/users/${id}/keys`, key: adminKey })
  mustBe(key, 201)
  return { id, key: key.body.data.key, keyId: key.body.data.id, rules: {} }
}

/** Creates a person with a rule of every kind. */
export async function makeRuledPerson(client: HttpClient, adminKey: string, name: string): Promise<Person> {
  const person = await makePerson(client, adminKey, name)
  const word = (what: string) => wordOf(what, person)
  const operations: readonly Loose[] = [
    firewall('mask', { pattern: word('hush'), action: 'mask', replacement: MASKED(person) }),
    firewall('block', { pattern: word('halt'), action: 'block' }),
    firewall('warn', { pattern: word('mind'), action: 'warn' }),
    firewall('card', {
      type: 'regex',
      pattern: '\\bcard (\\d{4})\\b',
      action: 'mask',
      replacement: 'no. $1',
    }),
    // Only a backtracking engine can do this; it has a time budget, so nothing depends on it.
    firewall('look-around', { type: 'regex', pattern: '(?<!no )points(?! failure)', action: 'warn' }),
    routing('cheap', { contains: word('cheap') }, { set_mode: 'cost' }),
    routing('pin', { contains: word('pin') }, { set_model: PINNED_BY_RULE }),
    routing('note', { contains: word('note') }, { add_warning: word('noted') }),
    ...Array.from({ length: FILLERS }, (_, n) => [
      firewall(`wall ${n}`, { type: 'regex', pattern: `\\bwagon[-_ ]?${n}z+\\b`, action: 'block' }),
      routing(`way ${n}`, { contains: [`siding ${n}z`], task: 'shunt' }, { set_mode: 'quality' }),
    ]).flat(),
  ]
  const made = await client.ask({ path: '/v1/rules/batch', key: person.key, body: { operations } })
  mustBe(made, 200)
  return { ...person, rules: Object.fromEntries(made.body.data.map((rule: Loose) => [rule.name, rule.id])) }
}

/** Creates a person whose requests always go to one provider. */
export async function makeBoundPerson(
  client: HttpClient,
  adminKey: string,
  provider: string,
): Promise<Person> {
  const person = await makePerson(client, adminKey, `bound to ${provider}`)
  const { data } = routing('bound', {}, { set_provider: provider })
  mustBe(await client.ask({ path: '/v1/routing-rules', key: person.key, body: data }), 201)
  return person
}

export function firewall(name: string, content: object) {
  const data = { name, is_enabled: true, scope: 'prompt', type: 'substring', priority: 0, ...content }
  return { kind: 'firewall', op: 'create', data }
}

export function routing(name: string, match_json: object, action_json: object, priority = 0) {
  const data = { name, is_enabled: true, priority, match_json, action_json }
  return { kind: 'routing', op: 'create', data }
}
