import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'
import { patternsOf } from '../support/rule-patterns.ts'
import { createResponse, idIn, replay } from '../support/stored-responses.ts'

for (const kind of ['embedded', 'EventStoreDB'] as const) {
  describe(`sizes on the event log: ${kind}`, () => {
    let server: EventStore | undefined
    let sandbox: Sandbox
    let gateway: RunningGateway

    before(async () => {
      sandbox = await startSandbox({ record: 1 })
      if (kind === 'EventStoreDB') server = await startEventStore()
      gateway = await startGatewayOnFiles({
        ...providersAt(sandbox),
        ...(server && { EVENTSTORE_URL: server.connectionString }),
      })
    })

    after(async () => {
      await gateway.stop()
      await sandbox.close()
      await server?.stop()
    })

    const rule = (pattern: string) => firewallRuleBody({ name: 'a rule', pattern, action: 'warn' })
    const addRule = (pattern: string) => gateway.call('POST', '/v1/firewall-rules', rule(pattern))

    it('refuses a change that is too large with 413, and not the changes that wait behind it', async () => {
      const operations = Array.from({ length: 400 }, (_, n) => ({
        kind: 'firewall',
        op: 'create',
        data: { ...rule(`large ${n}`), action: 'mask', replacement: '語'.repeat(1000) },
      }))
      const [large, ...small] = await Promise.all([
        gateway.call('POST', '/v1/rules/batch', { operations }),
        addRule('small 1'),
        addRule('small 2'),
      ])

      expect(large.status, JSON.stringify(large.body)).to.equal(413)
      expect(large.headers.get('x-error-code')).to.equal('change_too_large')
      expect(large.headers.get('retry-after')).to.equal(null)
      expect(large.body.error.message).to.match(
        /^The change has 1[0-9]{6} bytes .* at most 1000000 in one change/,
      )
      expect(small.map(({ status }) => status)).to.deep.equal([201, 201])
      expect((await patternsOf(gateway)).toSorted()).to.deep.equal(['small 1', 'small 2'])
      const { body } = await gateway.call('GET', '/readyz')
      expect(body.event_log).to.equal('following')
    })

    it('accepts a change of nearly the limit', async () => {
      const operations = Array.from({ length: 260 }, (_, n) => ({
        kind: 'firewall',
        op: 'create',
        data: { ...rule(`large ${n}`), action: 'mask', replacement: '語'.repeat(1000) },
      }))

      const { status } = await gateway.call('POST', '/v1/rules/batch', { operations })

      expect(status).to.equal(200)
    })

    for (const stream of [false, true]) {
      it(`stores a response of more than a megabyte, ${stream ? 'streamed' : 'whole'}`, async () => {
        const text = 'Größe "\\\n🚂" '.repeat(60_000)
        const created = await createResponse(gateway, { input: text, stream })
        expect(created.status).to.equal(200)
        const id = idIn(created.text)

        expect((await replay(gateway, id, stream)).status).to.equal(200)
        const items = await gateway.call('GET', `/v1/responses/${id}/input_items`)
        expect(items.body.data[0].content[0].text).to.equal(text)
        const next = await createResponse(gateway, { input: 'and now?', previous_response_id: id })
        expect(next.status).to.equal(200)
        expect((await gateway.call('DELETE', `/v1/responses/${id}`)).status).to.equal(200)
        expect((await replay(gateway, id, stream)).status).to.equal(404)
      })
    }
  })
}

describe('a response that was not written completely', () => {
  it('is not found', async () => {
    const server = await startEventStore()
    const gateway = await startGatewayOnFiles({ EVENTSTORE_URL: server.connectionString })
    const id = idIn((await createResponse(gateway, { input: 'x'.repeat(2_000_000) })).text)
    const key = id.replace('resp_', 'response-')
    const stored = server.store.readStream(key, 0, 'forwards', 10)
    expect(stored.length).to.be.above(2)
    const cut = key.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
    server.store.append(cut, 'any', stored.slice(0, -1))

    expect((await replay(gateway, id, false)).status).to.equal(200)
    const { status } = await replay(gateway, cut.replace('response-', 'resp_'), false)
    expect(status).to.equal(404)
    await gateway.stop()
    await server.stop()
  })
})

describe('deleted and expired responses on EventStoreDB', () => {
  it('leave no byte of the prompt and the answer after a scavenge', async () => {
    const server = await startEventStore()
    const short = { EVENTSTORE_URL: server.connectionString }
    const gateway = await startGatewayOnFiles(short)
    const secrets = ['small-secret-to-delete', 'small-secret-to-keep', 'large-secret-to-delete ']
    const [small, kept, large] = secrets as [string, string, string]
    const deletedIds = [
      idIn((await createResponse(gateway, { input: small })).text),
      idIn((await createResponse(gateway, { input: large.repeat(60_000) })).text),
    ]
    const keptId = idIn((await createResponse(gateway, { input: kept })).text)
    for (const secret of secrets) expect(server.store.chunks().includes(secret)).to.equal(true)
    for (const id of deletedIds)
      expect((await gateway.call('DELETE', `/v1/responses/${id}`)).status).to.equal(200)
    server.store.scavenge()

    expect(server.store.chunks().includes(small)).to.equal(false)
    expect(server.store.chunks().includes(large.trim())).to.equal(false)
    expect((await replay(gateway, keptId, false)).status).to.equal(200)

    server.store.setMetadata(keptId.replace('resp_', 'response-'), { $maxAge: 0 })
    server.store.scavenge()
    expect(server.store.chunks().includes(kept)).to.equal(false)
    expect((await replay(gateway, keptId, false)).status).to.equal(404)
    await gateway.stop()
    await server.stop()
  })
})
