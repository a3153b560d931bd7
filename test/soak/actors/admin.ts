import { ADMIN_KEY } from '../../support/gateway.ts'
import { type Addresses, createClient, type Loose } from '../client.ts'
import { must, mustBe, mustEqual, Unexpected } from '../expect.ts'
import { makePerson, type Person } from '../people.ts'
import type { World } from '../world.ts'
import type { Actor } from './actor.ts'
import { doubtful, type Ledger, noteChange, readAfterDoubt } from './ledger.ts'

/** The expected state of a user that the administrator changes. */
interface Subject {
  readonly person: Person
  readonly ledger: Ledger
  plan: string
  limit: number | null | undefined
  /** Keys other than the first, by id: whether they are valid, and the key itself. */
  readonly keys: Map<string, { readonly key: string; revoked: boolean }>
}

const MAX_SUBJECTS = 12

/** Limits the number of keys, since revoked ones are kept permanently. */
const MAX_KEYS = 12

/** Creates users and keys, revokes keys, changes plans and limits. */
export function createAdmin(world: World, addresses: Addresses): Actor {
  const { chance } = world
  const subjects: Subject[] = []
  const ledgers: Ledger[] = []
  let client = createClient(addresses, 1)
  let current: Subject | undefined
  let life = world.life()

  const change = (
    subject: Subject,
    events: readonly string[],
    method: string,
    path: string,
    body?: unknown,
  ) =>
    noteChange(subject.ledger, events, () =>
      client.ask({ method, path, key: ADMIN_KEY, ...(body !== undefined && { body }) }),
    )

  const listModels = async (key: string) => (await client.ask({ path: '/v1/models', key })).status

  async function addUser(): Promise<string> {
    const person = await makePerson(client, ADMIN_KEY, `made by the soak ${subjects.length}`)
    const ledger = { who: `user ${person.id}`, key: person.key, entries: [] }
    subjects.push({ person, ledger, plan: 'paid', limit: undefined, keys: new Map() })
    ledgers.push(ledger)
    return 'user and key made'
  }

  async function addKey(subject: Subject): Promise<string> {
    const path = `/admin/users/${subject.person.id}/keys`
    const got = await change(subject, ['key created'], 'POST', path)
    mustBe(got, 201)
    const { id, key } = got.body.data
    subject.keys.set(id, { key, revoked: false })
    mustEqual(await listModels(key), 200, 'the answer to a new key')
    return 'key made'
  }

  async function revokeKey(subject: Subject): Promise<string> {
    const [id, entry] = [...subject.keys].find(([, { revoked }]) => !revoked) ?? []
    if (id === undefined || entry === undefined)
      return subject.keys.size < MAX_KEYS ? addKey(subject) : look()
    mustBe(await change(subject, ['key revoked'], 'DELETE', `/admin/keys/${id}`), 200)
    entry.revoked = true
    mustEqual(await listModels(entry.key), 401, 'the answer to a revoked key')
    return 'key revoked'
  }

  async function changeUser(subject: Subject): Promise<string> {
    const plan = chance.pick(['free', 'paid'])
    const limit = chance.pick([undefined, null, 10_000, 20_000])
    const events = [
      ...(plan !== subject.plan ? ['user plan_changed'] : []),
      ...(limit !== subject.limit ? ['user limit_changed'] : []),
    ]
    const body = { plan, ...(limit !== undefined && { requests_per_minute: limit }) }
    const got = await change(subject, events, 'PATCH', `/admin/users/${subject.person.id}`, body)
    mustBe(got, 200)
    subject.plan = plan
    subject.limit = limit
    const rules = await client.ask({ path: '/v1/routing-rules', key: subject.person.key })
    mustBe(rules, plan === 'paid' ? 200 : 403)
    return `plan ${plan}`
  }

  async function readUsers(): Promise<Loose> {
    const got = await client.ask({ path: '/admin/users', key: ADMIN_KEY })
    mustBe(got, 200)
    return got.body
  }

  async function look(): Promise<string> {
    const users = await readUsers()
    for (const subject of subjects) compare(subject, find(users, subject))
    return 'users as they must be'
  }

  return {
    name: 'users and keys',
    everyMs: 700,
    ledgers,
    async act() {
      life = world.life()
      if (subjects.length < 2 || (subjects.length < MAX_SUBJECTS && chance.chance(0.03))) return addUser()
      const subject = chance.pick(subjects)
      current = subject
      const dice = chance.integer(100)
      if (dice < 15 && subject.keys.size < MAX_KEYS) return addKey(subject)
      if (dice < 35) return revokeKey(subject)
      return dice < 80 ? changeUser(subject) : look()
    },
    async settle(next) {
      await client.close()
      client = createClient(next, 1)
      const changed = current !== undefined && doubtful(current.ledger).length > 0 ? current : undefined
      const canBeLate = changed !== undefined && life === world.life()
      const shows = (users: Loose) => changed !== undefined && differs(changed, find(users, changed))
      const users = await readAfterDoubt(readUsers, shows, canBeLate)
      if (changed !== undefined) adopt(changed, find(users, changed))
      for (const subject of subjects) compare(subject, find(users, subject))
    },
    close: () => client.close(),
  }
}

const find = ({ data }: Loose, { person }: Subject): Loose => data.find(({ id }: Loose) => id === person.id)

function compare({ person, plan, limit, keys }: Subject, shown: Loose): void {
  mustEqual(shown?.plan, plan, `the plan of user ${person.id}`)
  mustEqual(shown.requests_per_minute, limit, `the limit of user ${person.id}`)
  for (const [id, { revoked }] of keys) {
    const key = shown.keys.find((each: Loose) => each.id === id)
    must(key !== undefined, () => `the key ${id} of user ${person.id} is gone`)
    mustEqual(key.revoked_at !== null, revoked, `whether the key ${id} is revoked`)
  }
}

function differs(subject: Subject, shown: Loose): boolean {
  try {
    compare(subject, shown)
    return shown.keys.length !== subject.keys.size + 1
  } catch (error) {
    if (error instanceof Unexpected) return true
    throw error
  }
}

/** After a change in doubt, the state of the gateway is taken over. */
function adopt(subject: Subject, shown: Loose): void {
  subject.plan = shown.plan
  subject.limit = shown.requests_per_minute
  for (const key of shown.keys) {
    const known = subject.keys.get(key.id)
    if (known !== undefined) known.revoked = key.revoked_at !== null
  }
}
