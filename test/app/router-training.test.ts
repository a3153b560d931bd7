import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { ADMIN_KEY, AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { asAdmin } from '../support/policies.ts'
import { writeSettings } from '../support/settings-file.ts'

const CHEAP = 'ministral-3b-2512'
const DEAR = 'gpt-6.2-astra'

/** Rated prompts of two kinds: both models write haikus well, and only the dear one proves theorems. */
function ratedPrompts(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const isHaiku = index % 2 === 0
    const prompt = isHaiku ? `write a haiku about topic ${index}` : `prove the theorem number ${index}`
    return [
      { prompt, model: CHEAP, score: isHaiku ? 1 : 0 },
      { prompt, model: DEAR, score: isHaiku && index % 20 === 0 ? 0 : 1 },
    ]
  })
  return lines
    .flat()
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('')
}

describe('the training of a router', function () {
  this.timeout(180_000)
  let gateway: RunningGateway
  before(async () => {
    const yaml =
      'rate_limits: { requests_per_minute: { free: null, paid: null } }\nrouting: { learned: "on" }\n'
    gateway = await startGateway({ CONFIG: await writeSettings(yaml) })
  })
  after(() => gateway.stop())

  const router = (...args: readonly string[]) =>
    runCommand(['router', ...args, '--url', gateway.url], { SIGNALBOX_KEY: ADMIN_KEY })
  const ask = async (content: string) => {
    const body = { model: 'auto:quality', messages: [{ role: 'user', content }] }
    return (await gateway.call('POST', '/v1/chat/completions', body)).body
  }

  const auditedData = async (kind: string): Promise<object[]> => {
    const { body } = await asAdmin(gateway, 'GET', `/admin/audit?kind=${kind}`)
    return body.data.map(({ data }: { data: object }) => data)
  }

  it('leads from rated prompts to a version that is activated, decides, and is taken back', async () => {
    const imported = await fetch(`${gateway.url}/admin/feedback?format=jsonl`, {
      method: 'POST',
      headers: AS_ADMIN,
      body: ratedPrompts(160),
    })
    expect(imported.status, await imported.clone().text()).to.be.within(200, 201)

    const trained = await router('train', '--reason', 'first ratings')
    expect(trained.stderr).to.equal('')
    expect(trained.stdout).to.match(/^Trained version 1\.\n/)
    const [version] = await auditedData('router')
    expect(version)
      .to.have.property('weightsLeaf')
      .that.matches(/^[0-9a-f]{64}$/)
    const report = await router('report')
    expect(report.stdout)
      .to.contain('CANDIDATE 1')
      .and.to.match(/Version 1 is (not )?better/)
    expect((await router('activate', '1', '--reason', 'a trial')).stdout).to.equal('Version 1 is active.\n')

    const haiku = await ask('write a haiku about the sea')
    expect(haiku.model).to.equal(CHEAP)
    expect(haiku.signalbox.router).to.deep.include({ version: 1 })
    expect(haiku.signalbox.router.p).to.be.above(0.8)
    expect((await ask('prove the theorem of Fermat')).model).not.to.equal(CHEAP)

    const tried = await asAdmin(gateway, 'POST', '/admin/routers/1/what-if', {})
    expect(tried.status).to.equal(200)
    expect(tried.body.data).to.deep.include({ version: 1, requests: 2 })
    expect(tried.body.data.recorded.models).to.have.length(2)

    expect((await router('rollback')).stdout).to.equal('No version is active.\n')
    expect((await ask('write a haiku about the sea')).signalbox).not.to.have.property('router')
    expect((await router('activate', '7')).stderr).to.contain('Version 7 of the router was not found.')
    expect((await router('activate', 'x')).code).to.equal(2)
  })
})
