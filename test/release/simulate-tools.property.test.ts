import { Server } from '@modelcontextprotocol/server'
import { expect } from 'chai'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { startModernServer, type TestServer } from '../support/mcp/servers.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'
import { createRandom, type Random } from '../support/random.ts'
import { ROUNDS } from '../support/rounds.ts'

const SEED = Number(process.env.TOOL_CALLS_SEED ?? 20261127)

const SERVERS = ['files', 'web', 'mail']
const TOOLS = ['read', 'write']
const PATHS = ['/etc/passwd', '/tmp/x', 'a private file', 'forbidden']

/** A call that was made, and what was decided then. */
interface MadeCall {
  readonly userId: number
  readonly call: object
  readonly decided: object
  readonly position: number
}

describe(`calls of tools decided again (${ROUNDS.toolCalls} calls, seed ${SEED})`, function () {
  this.timeout(60_000 + ROUNDS.toolCalls * 400)
  let gateway: RunningGateway
  let upstream: TestServer
  let definitions = 0
  const ids = new Map<string, number>()
  const random = createRandom(SEED)

  before(async () => {
    gateway = await startGateway({ LOG_LEVEL: 'silent' })
    upstream = await startModernServer(() => {
      const server = new Server({ name: 'files', version: '1' }, { capabilities: { tools: {} } })
      const description = `Definition ${definitions}.`
      const tools = TOOLS.map((name) => ({ name, description, inputSchema: { type: 'object' as const } }))
      server.setRequestHandler('tools/list', async () => ({ tools }))
      server.setRequestHandler('tools/call', async ({ params }) => ({
        content: [{ type: 'text' as const, text: JSON.stringify(params.arguments) }],
      }))
      return server
    })
    for (const [index, name] of SERVERS.entries()) {
      const policy = { new_tools: 'approved', ...(index === 2 && { changed_tools: 'serve_approved' }) }
      const server = await manage('POST', '', { name, url: upstream.url, ...policy })
      ids.set(name, server.id)
      await manage('POST', `/${server.id}/refresh`)
    }
  })
  after(async () => {
    await gateway.stop()
    await upstream.stop()
  })

  async function manage(method: string, path: string, body?: object) {
    const answer = await asAdmin(gateway, method, `/admin/tool-servers${path}`, body)
    expect(answer.status, JSON.stringify(answer.body)).to.be.below(300)
    return answer.body?.data
  }

  it('have the same verdict, rule, trace and arguments as then', async () => {
    const users = [await newUser(gateway), await newUser(gateway), await newUser(gateway)]
    const reads = new Map<string, Set<string>>()
    const policies: { remove(): Promise<Answer> }[] = []
    const made: MadeCall[] = []
    const verdicts = new Map<string, number>()
    while (made.length < ROUNDS.toolCalls) {
      if (random.chance(0.25)) await change(users, policies)
      const call = await makeCall(random.pick(users), reads)
      verdicts.set(call.verdict, (verdicts.get(call.verdict) ?? 0) + 1)
      made.push(call)
    }
    for (const { userId, call, decided, position } of made)
      expect(await simulate(userId, call, { as_of: position })).to.deep.equal(decided)
    const rare = ['allowed', 'denied', 'hidden', 'pending_approval', 'not_served', 'blocked'].filter(
      (verdict) => (verdicts.get(verdict) ?? 0) < ROUNDS.toolCalls / 75,
    )
    expect(rare, JSON.stringify([...verdicts])).to.deep.equal([])
  })

  /** Makes a call that was just simulated: the gateway does what the simulation says. */
  async function makeCall(user: TestUser, reads: Map<string, Set<string>>) {
    const session = random.pick(['a', 'b'])
    const read = reads.get(`${user.id} ${session}`) ?? new Set<string>()
    const args = { path: random.pick(PATHS), level: random.pick([1, 2]) }
    const server = random.chance(0.02) ? 'none' : random.pick(SERVERS)
    const tool = random.chance(0.02) ? 'none' : random.pick(TOOLS)
    const call = { server, tool, arguments: args, read: [...read] }
    const decided = await simulate(user.id, call)
    const { body } = await callToolRaw(gateway, user.key, call, { 'x-session-id': session })
    const code = body.error?.data?.code ?? body.error?.code
    // A user can only wait for so many approvals.
    const expected =
      decided.verdict === 'pending_approval'
        ? ['approval_required', 'too_many_approvals']
        : [decided.error?.code]
    expect(code, JSON.stringify([decided, body])).to.be.oneOf(expected)
    if (decided.verdict === 'allowed') {
      expect(JSON.parse(body.result.content[0].text)).to.deep.equal(decided.tool_call.arguments)
      reads.set(`${user.id} ${session}`, new Set(read).add(server))
    }
    return { userId: user.id, call, decided, position: decided.rules_position, verdict: decided.verdict }
  }

  async function simulate(userId: number, call: object, more: object = {}) {
    const body = { user_id: userId, tool_call: call, ...more }
    const answer = await asAdmin(gateway, 'POST', '/admin/simulate', body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    return answer.body.data
  }

  /** Changes a policy, own rules, a server, or the definitions of its tools. */
  async function change(users: readonly TestUser[], policies: { remove(): Promise<Answer> }[]) {
    const user = random.pick(users)
    const server = random.pick(SERVERS)
    const path = `/${ids.get(server)}`
    const kind = random.integer(7)
    if (policies.length > 4 || (kind === 0 && policies.length > 0)) await policies.shift()?.remove()
    else if (kind < 3) policies.push(await addPolicy(user))
    else if (kind === 3) {
      const { body } = await user.call('GET', '/v1/tool-rules')
      const rules: readonly { id: number }[] = body.data
      if (rules.length < 2) await user.call('POST', '/v1/tool-rules', randomRule(random))
      else await user.call('DELETE', `/v1/tool-rules/${random.pick(rules).id}`)
    } else if (kind === 4) await manage('PATCH', path, { default: random.pick(['allow', 'allow', 'deny']) })
    else if (kind === 5) {
      definitions++
      for (const id of ids.values()) await manage('POST', `/${id}/refresh`)
      // Of many definitions that nobody decides about, the further ones are not recorded.
      if (definitions % 8 === 0) for (const id of ids.values()) await approveAll(`/${id}`)
    } else await decideTool(path)
  }

  async function approveAll(path: string) {
    for (const tool of TOOLS) {
      const { revision } = await manage('GET', `${path}/tools/${tool}`)
      await manage('POST', `${path}/tools/${tool}/approve`, { revision })
    }
  }

  async function decideTool(path: string) {
    const tool = random.pick(TOOLS)
    const { revision } = await manage('GET', `${path}/tools/${tool}`)
    const action = random.pick(['approve', 'approve', 'approve', 'reject'])
    await asAdmin(gateway, 'POST', `/admin/tool-servers${path}/tools/${tool}/${action}`, { revision })
  }

  function addPolicy(user: TestUser) {
    const applies = random.chance(0.5) ? { everyone: true } : { users: [user.id] }
    const firewall = random.chance(0.3)
      ? [
          firewallRule({ scope: 'tool_call', pattern: 'private', action: 'mask' }),
          firewallRule({ scope: 'tool_call', pattern: 'forbidden' }),
        ]
      : []
    const tool = Array.from({ length: 1 + random.integer(3) }, () => randomRule(random))
    return newPolicy(gateway, { tool, firewall, applies_to: applies, priority: random.integer(4) })
  }
})

function randomRule(random: Random): object {
  const test = random.pick<object>([
    { '/path': { contains: 'etc' } },
    { '/path': { matches: '^a .*file$' } },
    { '/level': { equals: 1 } },
  ])
  return {
    ...{ name: 'a rule', is_enabled: random.chance(0.9), priority: random.integer(6) },
    match: {
      ...(random.chance(0.6) && { server: random.pick([...SERVERS, '*i*']) }),
      ...(random.chance(0.6) && { tool: random.pick([...TOOLS, 'w*']) }),
      ...(random.chance(0.4) && { arguments: test }),
      ...(random.chance(0.3) && { after_reading: [random.pick(SERVERS)] }),
    },
    action: random.pick(['allow', 'allow', 'deny', 'hide', 'require_approval', 'warn']),
  }
}
