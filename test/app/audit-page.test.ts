import { expect } from 'chai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { hasTools, readCurlBlocks, runBlock } from '../support/pages.ts'
import { skip } from '../support/skip.ts'

describe('docs/guides/audit.md', () => {
  let gateway: RunningGateway

  before(async function () {
    if (!(await hasTools())) skip(this, 'curl or jq is not installed')
    gateway = await startGateway()
  })
  after(() => gateway?.stop())

  const run = (script?: string) => runBlock(gateway, script)

  it('has commands that work as described, after those of the README', async () => {
    const [, makeRule] = await readCurlBlocks('README.md')
    const [makeSecond] = await readCurlBlocks('docs/start.md')
    await run(makeRule)
    await run(makeSecond)
    const [patch, history, audit, asOf, diff, revert] = await readCurlBlocks('docs/guides/audit.md')
    const [simulate] = await readCurlBlocks('docs/guides/simulate.md')
    // A shell of a reader keeps the variable.
    const atBefore = (script = '') => `BEFORE=6\n${script}`
    const runForData = async (script?: string) => JSON.parse(await run(script)).data

    expect(await runForData(patch)).to.include({ id: 2, action: 'block' })
    const [first, second] = await runForData(history)
    expect(first).to.include({ position: 6, event: 'created', before: null })
    expect(second).to.include({ position: 9, event: 'updated', revision: 2 })
    expect(await runForData(audit)).to.have.length(2)
    expect((await runForData(atBefore(asOf)))[0]).to.include({ id: 2, action: 'mask' })
    const { from, to, routing, firewall } = await runForData(atBefore(diff))
    expect([from, to, routing.added[0].id]).to.deep.equal([6, 9, 3])
    expect(firewall.changed[0].changes).to.deep.equal({ action: { from: 'mask', to: 'block' } })
    expect(await runForData(revert)).to.include({ id: 2, action: 'mask' })
    const decision = await runForData(simulate)
    expect(decision).to.include({ outcome: 'allowed', routing_mode: 'quality', rules_position: 10 })
    expect(decision.request.messages[0].content).to.equal('Send the contract to [address]')
    expect(decision.targets[0]).to.deep.equal({ provider: 'anthropic', model: 'claude-fable-5-2' })
  })
})
