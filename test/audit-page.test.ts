import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type RunningGateway, startGateway } from './support/gateway.ts'

/** The shell blocks of a page that call the gateway, in order. */
async function readCurlBlocks(page: string): Promise<readonly string[]> {
  const text = await readFile(new URL(`../${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/```sh\n(.*?)```/gs)]
    .map(([, block = '']) => block)
    .filter((block) => block.includes('curl'))
}

describe('the page about audit', () => {
  let gateway: RunningGateway

  before(async function () {
    const hasCurl = await promisify(execFile)('curl', ['--version']).catch(() => undefined)
    // skipped: curl is not installed on this machine
    if (hasCurl === undefined) this.skip()
    gateway = await startGateway()
  })
  after(() => gateway?.stop())

  async function run(script = ''): Promise<string> {
    const env = { ...process.env, SIGNALBOX_KEY: gateway.demoKey }
    const here = script.replaceAll('http://127.0.0.1:8080', gateway.url).replaceAll('curl ', 'curl --silent ')
    return (await promisify(execFile)('sh', ['-c', here], { env })).stdout
  }

  it('shows commands that do what it says, copied as they stand, after those of the README', async () => {
    const [, makeRules] = await readCurlBlocks('README.md')
    await run(makeRules)
    const [patch, history, audit, asOf, diff, revert, simulate] = await readCurlBlocks('docs/audit.md')
    const answer = async (script?: string) => JSON.parse(await run(script)).data

    expect(await answer(patch)).to.include({ id: 2, action: 'block' })
    const [first, second] = await answer(history)
    expect(first).to.include({ position: 5, event: 'created', before: null })
    expect(second).to.include({ position: 8, event: 'updated', revision: 2 })
    expect(await answer(audit)).to.have.length(2)
    expect((await answer(asOf))[0]).to.include({ id: 2, action: 'mask' })
    const { from, to, routing, firewall } = await answer(diff)
    expect([from, to, routing.added[0].id]).to.deep.equal([5, 8, 3])
    expect(firewall.changed[0].changes).to.deep.equal({ action: { from: 'mask', to: 'block' } })
    expect(await answer(revert)).to.include({ id: 2, action: 'mask' })
    const decision = await answer(simulate)
    expect(decision).to.include({ outcome: 'allowed', routing_mode: 'quality', rules_position: 7 })
    expect(decision.request.messages[0].content).to.equal('Send the contract to [address]')
    expect(decision.targets[0]).to.deep.equal({ provider: 'anthropic', model: 'claude-fable-5-2' })
  })
})
