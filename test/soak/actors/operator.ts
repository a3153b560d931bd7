import { ADMIN_KEY } from '../../support/gateway.ts'
import { type Addresses, createClient, type Loose } from '../client.ts'
import { must, mustBe, mustEqual } from '../expect.ts'
import { makePerson, type Person } from '../people.ts'
import type { World } from '../world.ts'
import type { Actor } from './actor.ts'

/** What the pages of the console read. */
const PAGES = [
  '/admin/overview',
  '/admin/status',
  '/admin/requests?limit=50',
  '/admin/usage?group_by=model',
  '/admin/audit?limit=50',
  '/admin/audit?actor=root&kind=policy',
  '/admin/audit?q=never%20said',
  '/admin/policies',
]

/** What a draft of rules changes is asked for the requests of this time. */
const WHAT_IF_MS = 20_000

const rule = (n: number) => ({
  ...{ name: `rule ${n}`, is_enabled: true, priority: n, scope: 'prompt', type: 'substring' },
  ...{ pattern: `never said ${n}`, action: 'warn' },
})

/** An operator with the console open, who changes policies and tries out drafts of rules. */
export function createOperatorAtWork({ chance }: World, addresses: Addresses): Actor {
  let client = createClient(addresses)
  let person: Person | undefined
  let policy: { readonly id: number; name: string } | undefined
  let changes = 0

  const ask = (path: string, method = 'GET', body?: unknown) =>
    client.ask({ method, path, key: ADMIN_KEY, ...(body !== undefined && { body }) })

  async function look(): Promise<string> {
    mustBe(await ask('/console/'), 200)
    for (const page of PAGES) mustBe(await ask(page), 200)
    return 'pages read'
  }

  /** Watches until a record arrives. */
  async function watch(): Promise<string> {
    const leave = new AbortController()
    const { status, bytes } = await client.open({ path: '/admin/live', key: ADMIN_KEY, signal: leave.signal })
    mustEqual(status, 200, 'the status of the live requests')
    let text = ''
    try {
      for await (const chunk of bytes) {
        text += Buffer.from(chunk).toString()
        if (text.includes('data:')) break
      }
    } finally {
      leave.abort()
    }
    must(text.includes('data:'), () => `the live stream ended: ${text}`)
    return 'watched'
  }

  async function change(): Promise<string> {
    changes += 1
    person ??= await makePerson(client, ADMIN_KEY, 'under a policy')
    if (policy === undefined) {
      const body = {
        name: `policy ${changes}`,
        is_enabled: true,
        priority: 0,
        applies_to: { users: [person.id] },
      }
      const made = await ask('/admin/policies', 'POST', body)
      mustBe(made, 201)
      policy = { id: made.body.data.id, name: body.name }
      mustBe(await ask(`/admin/policies/${policy.id}/firewall-rules`, 'POST', rule(changes)), 201)
      const { body: effective } = await client.ask({ path: '/v1/rules/effective', key: person.key })
      const shown = JSON.stringify(effective)
      must(shown.includes(`"rule ${changes}"`), () => `a rule of a policy does not apply: ${shown}`)
      must(!shown.includes('never said'), () => `a user reads what a policy looks for: ${shown}`)
      return 'policy made'
    }
    if (chance.chance(0.3)) {
      mustBe(await ask(`/admin/policies/${policy.id}`, 'DELETE'), 200, 204)
      policy = undefined
      return 'policy deleted'
    }
    policy.name = `policy ${changes}`
    mustBe(await ask(`/admin/policies/${policy.id}`, 'PATCH', { name: policy.name }), 200)
    return 'policy changed'
  }

  async function tryOut(): Promise<string> {
    const since = encodeURIComponent(new Date(Date.now() - WHAT_IF_MS).toISOString())
    const draft = { ...rule(0), pattern: 'a', action: 'block' }
    const common = { is_enabled: true, priority: 0, applies_to: { everyone: true } }
    const file = { policies: [{ name: 'draft', ...common, firewall_rules: [draft] }] }
    const got = await ask(`/admin/what-if?since=${since}`, 'POST', { file })
    mustBe(got, 200)
    must(got.body.data.requests >= 0, () => `no requests in ${got.text}`)
    return 'draft tried out'
  }

  return {
    name: 'operator',
    everyMs: 1500,
    ledgers: [],
    act: () => chance.pick([look, watch, change, change, tryOut])(),
    async settle(next) {
      await client.close()
      client = createClient(next)
      const { data }: Loose = (await ask('/admin/policies')).body
      // A change without an answer may have been made or not.
      const found = data.find(({ id }: Loose) => id === policy?.id)
      policy = found && { id: found.id, name: found.name }
    },
    close: () => client.close(),
  }
}
