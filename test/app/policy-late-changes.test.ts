import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import type { Answer, RunningGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { startWithPlugins } from '../support/plugins.ts'
import { asAdmin, firewallRule, type NewPolicy, newPolicy } from '../support/policies.ts'
import { providersAt } from '../support/providers.ts'
import { receivedText } from '../support/streams.ts'

/** Replaces qx1 by falcon in the phase that a header names. */
const REWRITER = `
const rewrite = (value) => JSON.parse(JSON.stringify(value).replaceAll('qx1', 'falcon'))
const isIn = ({ headers }, phase) => headers['x-rewrite'] === phase
const change = ({ messages: [message] }) => { message.content = message.content.replaceAll('qx1', 'falcon') }
export default {
  name: 'rewriter', contract: 3, after: ['firewall'], before: ['dispatch'],
  setup: () => ({
    decide(exchange) {
      if (isIn(exchange, 'decide')) exchange.request = rewrite(exchange.request)
      if (isIn(exchange, 'change')) change(exchange.request)
    },
    reply(exchange, next) {
      if (isIn(exchange, 'reply')) exchange.request = rewrite(exchange.request)
      if (isIn(exchange, 'change in reply')) change(exchange.request)
      if (isIn(exchange, 'change later')) {
        exchange.request = structuredClone(exchange.request)
        const { request } = exchange
        const replied = next()
        change(request)
        return replied
      }
      return next()
    },
    inspect(exchange) {
      if (!isIn(exchange, 'inspect')) return undefined
      return { transform: (event) => [event.withParts(rewrite(event.parts))] }
    },
  }),
}`

/** Is never called, since `dispatch` answers. */
const LATER = `
export default { name: 'later', contract: 3, after: ['dispatch'], setup: () => ({ reply: (_, next) => next() }) }`

describe('what plugins change behind the firewall', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let user: TestUser
  let policy: { remove(): Promise<unknown> } | undefined
  const guardrail = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const texts: { index: number; text: string }[] = JSON.parse(body).texts
    const replacements = texts
      .filter(({ text }) => text.includes('qx2'))
      .map(({ index, text }) => ({ index, text: text.replaceAll('qx2', 'falcon') }))
    const verdict = replacements.length > 0 ? { action: 'mask', replacements } : { action: 'allow' }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(verdict))
  })

  before(async () => {
    guardrail.listen(0, '127.0.0.1')
    await once(guardrail, 'listening')
    const url = `http://127.0.0.1:${(guardrail.address() as AddressInfo).port}/check`
    sandbox = await startSandbox({ record: 1 })
    const options = { url, phases: ['request', 'reply'] }
    const add = [
      { use: 'guardrail-webhook', after: 'firewall', options },
      { use: 'rewriter', before: 'dispatch' },
      { use: 'later', after: 'dispatch' },
    ]
    const settings = 'firewall: { evaluate_responses: true }\n'
    const sources = { rewriter: REWRITER, later: LATER }
    gateway = await startWithPlugins(sources, { add }, settings, providersAt(sandbox))
    user = await newUser(gateway)
  })
  afterEach(() => policy?.remove())
  after(async () => {
    guardrail.close()
    guardrail.closeAllConnections()
    await gateway?.stop()
    await sandbox?.close()
  })

  const ask = (content: string, phase = '', more: object = {}): Promise<Answer> =>
    user.call(
      'POST',
      '/v1/chat/completions',
      { model: 'gpt-4o', messages: [{ role: 'user', content }], ...more },
      { 'x-rewrite': phase },
    )
  const expectBlocked = ({ status, headers, body }: Answer) =>
    expect([status, headers.get('x-error-code')], JSON.stringify(body)).to.deep.equal([
      403,
      'firewall_blocked',
    ])
  const forbid = async (fields: NewPolicy) => {
    policy = await newPolicy(gateway, fields)
  }
  const sent = () => JSON.stringify(sandbox.requests.at(-1)?.body)
  const BLOCK = firewallRule({ pattern: 'project falcon' })
  const MASK = firewallRule({ pattern: 'falcon', action: 'mask', replacement: 'bird' })
  const inReplies = (rule: object) => ({ ...rule, scope: 'response' })

  for (const [who, word, phase] of [
    ['a plugin that decides', 'qx1', 'decide'],
    ['a plugin that passes the request on', 'qx1', 'reply'],
    ['a guardrail', 'qx2', ''],
  ] as const)
    it(`is what policies forbid, whoever it was: ${who}`, async () => {
      await forbid({ firewall: [BLOCK] })
      const before = sandbox.requests.at(-1)
      expectBlocked(await ask(`project ${word}`, phase))
      expect(sandbox.requests.at(-1)).to.equal(before)
      await policy?.remove()
      await forbid({ firewall: [MASK] })
      expect((await ask(`project ${word}`, phase)).status).to.equal(200)
      expect(sent()).to.contain('project bird').and.not.to.contain('falcon')
    })

  for (const phase of ['change', 'change in reply', 'change later'])
    it(`cannot be changed in place: ${phase}`, async () => {
      await forbid({ firewall: [BLOCK] })
      const before = sandbox.requests.at(-1)
      const { status, body } = await ask('project qx1', phase)
      expect([status, body.error.code]).to.deep.equal([500, 'internal_error'])
      if (phase !== 'change later') expect(sandbox.requests.at(-1)).to.equal(before)
      expect(sent() ?? '').not.to.contain('falcon')
    })

  for (const [who, word, phase] of [
    ['a plugin', 'qx1', 'inspect'],
    ['a guardrail', 'qx2', ''],
  ] as const)
    it(`is what policies forbid in a reply: ${who}`, async () => {
      // The sandbox repeats what it was sent; the guardrail does not see what a mask of the user writes.
      const own = firewallRule({ ...inReplies(MASK), pattern: 'qxq', replacement: word })
      const { data } = (await user.call('POST', '/v1/firewall-rules', own)).body
      await forbid({ firewall: [inReplies(BLOCK)] })
      expectBlocked(await ask('project qxq', phase))
      const response = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${user.key}`,
          'content-type': 'application/json',
          'x-rewrite': phase,
        },
        body: JSON.stringify({
          model: 'gpt-4o',
          stream: true,
          messages: [{ role: 'user', content: 'project qxq' }],
        }),
      })
      const text = await receivedText(response)
      expect(text).to.contain('firewall_blocked').and.not.to.contain('project falcon')
      await policy?.remove()
      await forbid({ firewall: [inReplies(MASK)] })
      const { body } = await ask('project qxq', phase)
      expect(JSON.stringify(body)).to.contain('project bird').and.not.to.contain('falcon')
      await asAdmin(gateway, 'DELETE', `/admin/users/${user.id}/firewall-rules/${data.id}`)
    })
})
