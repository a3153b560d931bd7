import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { ADMIN_KEY, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newOperator } from '../support/operators.ts'
import { asAdmin } from '../support/policies.ts'
import { writeSettings } from '../support/settings-file.ts'

const CHEAP = 'ministral-3b-2512'
const DEAR = 'gpt-6.2-astra'

/** Rated prompts of two kinds: both models write haikus well, and only the dear one proves theorems. */
function ratedPrompts(count: number, isOwn: (pair: number) => boolean): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const isHaiku = index % 2 === 0
    // Each prompt is another one, and both kinds have the same length. Features do not tell digits apart.
    const topic = String(index).replace(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)))
    const prompt = isHaiku ? `write a haiku about ${topic}` : `prove theorem about ${topic}`
    return [
      { prompt, model: CHEAP, score: isHaiku ? 1 : 0 },
      { prompt, model: DEAR, score: isHaiku && index % 20 === 0 ? 0 : 1 },
    ]
  })
  return lines
    .filter((_, index) => isOwn(Math.floor(index / 2)))
    .flat()
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('')
}

describe('the training of a router', function () {
  this.timeout(180_000)
  let gateway: RunningGateway
  before(async () => {
    gateway = await startTraining('when_better')
  })
  after(() => gateway.stop())

  const startTraining = async (activate: string) => {
    const yaml =
      'rate_limits: { requests_per_minute: { free: null, paid: null } }\n' +
      `routing: { learned: "on", activate: ${activate} }\n`
    return startGateway({ CONFIG: await writeSettings(yaml) })
  }

  /** Each importer is one rater. */
  const importPrompts = async (to: RunningGateway, count: number, importers = 5) => {
    for (let importer = 0; importer < importers; importer++) {
      const { headers } = await newOperator(to, 'editor', `importer ${importer}`)
      const body = ratedPrompts(count, (pair) => pair % importers === importer)
      const url = `${to.url}/admin/feedback?format=jsonl`
      const imported = await fetch(url, { method: 'POST', headers, body })
      expect(imported.status, await imported.clone().text()).to.be.within(200, 201)
    }
  }

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
    await importPrompts(gateway, 400)

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
      .and.to.contain('Version 1 is better than all baselines on kinds of prompts that it has seen.')
      .and.to.match(/quality of the version at 50 % of the cost +(0\.9|1\n)/)
      .and.to.match(/trained_from.raters +5\n/)
    expect((await asAdmin(gateway, 'GET', '/admin/routers/report')).body.data).to.deep.include({
      active: null,
      is_better: false,
      is_better_on_known_kinds: true,
    })
    expect((await router('activate', '1', '--reason', 'a trial')).stdout).to.equal('Version 1 is active.\n')

    const haiku = await ask('write a haiku about the sea')
    expect(haiku.model).to.equal(CHEAP)
    expect(haiku.signalbox.router).to.deep.include({ version: 1 })
    expect(haiku.signalbox.router.p).to.be.above(0.8)
    expect((await ask('prove the theorem of Fermat')).model).not.to.equal(CHEAP)

    const backwards = '/admin/routers/1/what-if?since=2026-02-02&until=2026-02-01'
    expect((await asAdmin(gateway, 'POST', backwards)).body.error).to.include({
      message: 'since must not be after until.',
      http_status: 400,
    })
    const tried = await asAdmin(gateway, 'POST', '/admin/routers/1/what-if', {})
    expect(tried.status).to.equal(200)
    expect(tried.body.data).to.deep.include({ version: 1, requests: 2 })
    expect(tried.body.data.recorded.models).to.have.length(2)

    expect((await router('rollback')).stdout).to.equal('No version is active.\n')
    expect((await ask('write a haiku about the sea')).signalbox).not.to.have.property('router')
    expect((await router('activate', '7')).stderr).to.contain('Version 7 of the router was not found.')
    expect((await router('activate', 'x')).code).to.equal(2)
  })

  it('activates a version that is better on known kinds of prompts only if the settings say so', async () => {
    const willing = await startTraining('when_better_on_known_kinds')
    try {
      await importPrompts(willing, 400)
      const { body } = await asAdmin(willing, 'POST', '/admin/routers/train', {})
      expect(body.data).to.include({ version: 1, is_active: true })
      expect(body.data.figures).to.include({ better: false, better_on_known_kinds: true })
      expect(body.data.figures.reason).to.contain('kinds of prompts')
    } finally {
      await willing.stop()
    }
  })

  it('does not activate a version that one importer alone has taught and judged', async () => {
    const willing = await startTraining('when_better_on_known_kinds')
    try {
      await importPrompts(willing, 400, 1)
      const { body } = await asAdmin(willing, 'POST', '/admin/routers/train', {})
      expect(body.data).to.include({ version: 1, is_active: false })
      expect(body.data.figures).to.include({ better_on_known_kinds: false, raters: 1 })
      expect(body.data.figures.reason).to.contain('Fewer than 4 users or importers')
    } finally {
      await willing.stop()
    }
  })
})
