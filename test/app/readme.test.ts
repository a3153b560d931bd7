import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { hasTools, readCurlBlocks, runBlock } from '../support/pages.ts'
import { skip } from '../support/skip.ts'

describe('the README and docs/start.md', () => {
  let gateway: RunningGateway

  before(async function () {
    if (!(await hasTools())) skip(this, 'curl or jq is not installed')
    gateway = await startGateway()
  })
  after(() => gateway?.stop())

  it('show commands that do what they say, copied as they stand', async () => {
    const [ask, makeRule] = await readCurlBlocks('README.md')
    const [makeSecond, askAgain] = await readCurlBlocks('docs/start.md')
    const run = (script?: string) => runBlock(gateway, script)

    const first = JSON.parse(await run(ask))
    expect(first).to.include({ model: 'ministral-3b-2512', provider: 'mistral', routing_mode: 'cost' })
    expect(first.choices[0].message.content).to.contain('ada@example.com')

    const rules = [JSON.parse(await run(makeRule)), JSON.parse(await run(makeSecond))]
    expect(rules.map(({ data }) => data.name)).to.deep.equal(['No addresses', 'Contracts get the best'])

    const second = JSON.parse(await run(askAgain))
    expect(second).to.include({ model: 'claude-fable-5-2', routing_mode: 'quality' })
    expect(second.choices[0].message.content).to.contain('Send the contract to [address]')
    expect(second.metadata.rule_trace).to.deep.equal([
      {
        kind: 'firewall',
        rule_id: rules[0]?.data.id,
        name: 'No addresses',
        action: 'mask',
        outcome: 'applied',
      },
      {
        kind: 'routing',
        rule_id: rules[1]?.data.id,
        name: 'Contracts get the best',
        action: 'set_mode',
        outcome: 'applied',
      },
    ])
  })
})
