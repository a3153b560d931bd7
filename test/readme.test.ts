import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type RunningGateway, startGateway } from './support/gateway.ts'

/** The shell blocks of the README that call the gateway, in order; its address is replaced by the real one. */
async function readCurlBlocks(url: string): Promise<readonly string[]> {
  const text = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block = '']) => block)
  return blocks
    .filter((block) => block.includes('curl'))
    .map((block) => block.replaceAll('http://127.0.0.1:8080', url))
}

describe('the README', () => {
  let gateway: RunningGateway

  before(async function () {
    const hasCurl = await promisify(execFile)('curl', ['--version']).catch(() => undefined)
    // skipped: curl is not installed on this machine
    if (hasCurl === undefined) this.skip()
    gateway = await startGateway()
  })
  after(() => gateway?.stop())

  it('shows commands that do what it says, copied as they stand', async () => {
    const [ask, makeRules, askAgain] = await readCurlBlocks(gateway.url)
    const run = async (script = '') => {
      const env = { ...process.env, SIGNALBOX_KEY: gateway.demoKey }
      const quiet = script.replaceAll('curl ', 'curl --silent ')
      return (await promisify(execFile)('sh', ['-c', quiet], { env })).stdout
    }

    const first = JSON.parse(await run(ask))
    expect(first).to.include({ model: 'ministral-3b-2512', provider: 'mistral', routing_mode: 'cost' })
    expect(first.choices[0].message.content).to.contain('ada@example.com')

    const rules = (await run(makeRules))
      .replaceAll('}{"data"', '}\n{"data"')
      .split('\n')
      .map((line) => JSON.parse(line))
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
