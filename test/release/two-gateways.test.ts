import { expect } from 'chai'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { waitUntil } from '../support/wait.ts'

const rule = (name: string) => firewallRuleBody({ name, pattern: name, action: 'warn' })

describe('two gateways on one data folder', () => {
  let first: RunningGateway
  let second: RunningGateway

  before(async () => {
    first = await startGatewayOnFiles()
    second = await startGatewayOnFiles({}, { dataDir: first.dataDir, demoKey: first.demoKey })
  })
  after(() => Promise.all([first.stop(), second.stop()]))

  const isMasked = async (gateway: RunningGateway, word: string) => {
    const { body } = await gateway.call('POST', '/v1/chat/completions', {
      messages: [{ role: 'user', content: word }],
    })
    return body.choices[0].message.content.includes('[redacted]')
  }

  it("see each other's rule changes", async () => {
    const { body } = await first.call('POST', '/v1/firewall-rules', {
      ...rule('shared-word'),
      action: 'mask',
    })
    await waitUntil(() => isMasked(second, 'shared-word'))
    await second.call('DELETE', `/v1/firewall-rules/${body.data.id}`)
    await waitUntil(async () => !(await isMasked(first, 'shared-word')))
  })

  it('assign unique ids when both create rules concurrently', async () => {
    const create = (gateway: RunningGateway, n: number) =>
      gateway.call('POST', '/v1/firewall-rules', rule(`word ${n}`))
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => create(n % 2 === 0 ? first : second, n)),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal(Array(40).fill(201))
    expect(new Set(answers.map(({ body }) => body.data.id)).size).to.equal(40)
  })

  it('answer every change with its own content and ETag, whatever follows it', async () => {
    const { body } = await first.call('POST', '/v1/firewall-rules', rule('contended'))
    const path = `/v1/firewall-rules/${body.data.id}`
    await waitUntil(async () => (await second.call('GET', path)).status === 200)
    const change = (n: number) => (n % 2 === 0 ? first : second).call('PATCH', path, { name: `name ${n}` })
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => change(n)))

    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200))
    expect(answers.map(({ body }) => body.data.name)).to.deep.equal(answers.map((_, n) => `name ${n}`))
    const revisions = answers.map(({ headers }) => Number(JSON.parse(headers.get('etag') ?? '')))
    expect(revisions.toSorted((a, b) => a - b)).to.deep.equal(answers.map((_, n) => n + 2))
    const { body: history } = await first.call('GET', `${path}/history`)
    const times = new Map(
      history.data.map(({ revision, time }: { revision: number; time: string }) => [revision, time]),
    )
    for (const [index, { body }] of answers.entries())
      expect(body.data.updated_at).to.equal(times.get(revisions[index]))
  })

  it('create one demo user', () => {
    expect(second.stderr()).not.to.contain('The event log was empty')
  })
})
