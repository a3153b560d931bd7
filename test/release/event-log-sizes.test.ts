import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type EventStore, startEventStore } from '../support/eventstore/server.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'
import { patternsOf } from '../support/rule-patterns.ts'

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
  })
}
