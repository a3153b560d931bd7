import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { fillDemo } from '../../config/demo/fill-demo.ts'
import { planDemo } from '../../config/demo/plan-demo.ts'
import { readSettings } from '../../config/settings/settings.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { createRandom } from '../../core/util/random.ts'
import { chatBody } from '../support/bodies.ts'
import { captureOutput } from '../support/captured-output.ts'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGatewayOnFiles, TEST_ENVIRONMENT } from '../support/gateway.ts'
import { withSettings } from '../support/settings.ts'

const DAY_MS = 86_400_000

describe('"signalbox demo"', function () {
  // Each change waits for the disk.
  this.timeout(180_000)

  let dataDir: string
  let gateway: RunningGateway
  let asOperator: { readonly authorization: string }
  let printed: { readonly requests: number; readonly operator_key: string; readonly user_key: string }
  let startedAt: number

  before(async () => {
    dataDir = await makeFolder()
    startedAt = Date.now()
    const { code, stdout, stderr } = await runCommand(['demo', '--days', '7', '--seed', '7', '--no-start'], {
      ...TEST_ENVIRONMENT,
      ...{ DATA_DIR: dataDir, LOG_LEVEL: 'error', OPENAI_API_KEY: 'a key that must not be used' },
    })
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    printed = JSON.parse(stdout)
    asOperator = { authorization: `Bearer ${printed.operator_key}` }
    const verified = await runCommand(['log', 'verify'], { DATA_DIR: dataDir })
    expect(verified.code, verified.stderr).to.equal(0)
    gateway = await startGatewayOnFiles({}, { dataDir, demoKey: printed.user_key })
  })

  after(() => gateway.stop())

  const read = async (query: string) => {
    const { status, body } = await gateway.call('GET', query, undefined, asOperator)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }

  async function readRequests() {
    const records = []
    for (let next: string | null = ''; next !== null; ) {
      const page = await read(`/admin/requests?limit=1000${next && `&cursor=${next}`}`)
      records.push(...page.data)
      next = page.next_cursor
    }
    return records
  }

  it('records requests of every kind at times of the period, whose sums agree', async () => {
    const records = await readRequests()
    expect(records).to.have.length(printed.requests).and.to.have.length.above(300)
    const since = new Date(startedAt - 8 * DAY_MS).toISOString()
    const [total] = (await read(`/admin/usage?since=${since}`)).data
    const cost = records.reduce((sum, record) => sum + Math.round((record.cost_usd ?? 0) * 1e9), 0)
    expect(Math.round(total.cost_usd * 1e9))
      .to.equal(cost)
      .and.to.be.above(0)
    expect(total.requests).to.equal(records.length)

    const times = records.map((record) => Date.parse(record.time))
    expect(Math.min(...times)).to.be.within(startedAt - 8 * DAY_MS, startedAt - 6 * DAY_MS)
    expect(Math.max(...times)).to.be.within(startedAt - DAY_MS / 2, Date.now())
    expect(new Set(records.map(({ provider }) => provider))).to.include.keys('openai', 'anthropic', 'mistral')
    for (const status of [200, 403]) expect(records.some((record) => record.status === status)).to.equal(true)
    const actions = records.flatMap(({ rule_trace }) =>
      rule_trace.map(({ action }: { action: string }) => action),
    )
    expect(new Set(actions)).to.include.keys('mask', 'block', 'warn', 'set_mode')
    expect(
      records.some(({ attempts }) => attempts.length > 1),
      'a failover',
    ).to.equal(true)
    expect(
      records.some((record) => record.stream && record.first_token_ms > 0),
      'a stream',
    ).to.equal(true)
  })

  it('has changes by several actors with their reasons, in the order of time', async () => {
    const { data } = await read('/admin/audit?limit=200')
    const times = data.map(({ time }: { time: string }) => time)
    expect(times).to.deep.equal(times.toSorted().reverse())
    const actors = new Set(data.map(({ actor }: { actor: { name: string } }) => actor.name))
    expect(actors).to.include.keys('Ines Marques', 'Tom Okafor', 'Noor Haddad')
    expect(JSON.stringify(data)).to.contain('DPO-14').and.not.to.contain(printed.operator_key)
    const policies = (await read('/admin/policies')).data
    expect(policies.map(({ name }: { name: string }) => name)).to.include('Personal data')
  })

  it('has ratings, a split and a router, which the console shows', async () => {
    const [total] = (await read('/admin/usage')).data
    expect(total.ratings).to.be.above(200)
    expect(total.mean_score).to.be.within(0.4, 0.95)
    const arms = (await read('/admin/usage?group_by=arm')).data
    expect(arms.map(({ arm }: { arm: string }) => arm)).to.deep.equal(['gpt-5-nano', 'gpt-5.4-mini'])
    const [router] = (await read('/admin/routers')).data
    // Only a version that is better is active, and what the reason says is so.
    const { better_on_known_kinds: isBetter, reason } = router.figures
    expect(router).to.include({ version: 1, is_active: isBetter })
    if (!isBetter) expect(reason).to.match(/4 raters in the newest fifth\.$|^Not above/)
    expect(router.trained_from.raters).to.be.at.least(4)
    expect(router.trained_from.ratings).to.equal(total.ratings)
    expect(router.figures.fits.stored).to.equal(total.ratings)
  })

  it('serves with the keys that it prints, by the rules that it made', async () => {
    const allowed = await gateway.call(
      'POST',
      '/v1/chat/completions',
      chatBody('IBAN DE89370400440532013000'),
    )
    expect(allowed.status).to.equal(200)
    expect(allowed.body.choices[0].message.content).to.contain('[iban]')
    const secret = await gateway.call('POST', '/v1/chat/completions', chatBody('AKIAIOSFODNN7EXAMPLE'))
    expect(secret.status).to.equal(403)
  })

  it('gives the same for the same seed', async () => {
    const end = Date.UTC(2026, 8, 17, 12)
    const fill = async () => {
      const settings = readSettings({ ...TEST_ENVIRONMENT, DATA_DIR: await makeFolder() })
      const logger = createLogger('error', { destination: captureOutput() })
      const { requests, events } = await fillDemo(settings, { days: 1, seed: 5, end }, logger)
      const { stdout } = await runCommand(['log', 'export'], { DATA_DIR: settings.data_dir })
      return { requests, events, changes: stdout.match(/"time":"[^"]+"|"reason":"[^"]+"|"limitUsd":[^,]+/g) }
    }
    expect(await fill()).to.deep.equal(await fill())
    const plan = (seed: number) => planDemo({ days: 1, end }, createRandom(seed))
    expect(plan(6)).not.to.deep.equal(plan(5))
  })

  it('records prompts if they are to be recorded, and what-if evaluates them', async () => {
    const recording = {
      ...(await withSettings('ledger: { record_prompts: full }\n')),
      RECORD_KEY: randomBytes(32).toString('base64'),
    }
    const settings = readSettings({ ...TEST_ENVIRONMENT, DATA_DIR: await makeFolder(), ...recording })
    const logger = createLogger('error', { destination: captureOutput() })
    const filled = await fillDemo(settings, { days: 1, seed: 5, end: Date.now() }, logger)
    const other = await startGatewayOnFiles(recording, {
      dataDir: settings.data_dir,
      demoKey: filled.userKey,
    })
    const headers = { authorization: `Bearer ${filled.operatorKey}` }
    const evaluated = await other.call('POST', '/admin/what-if?limit=100', { file: {} }, headers)
    expect(evaluated.status, JSON.stringify(evaluated.body)).to.equal(200)
    expect(evaluated.body.data.requests).to.equal(Math.min(100, filled.requests))
    // Some requests are refused by limits before they are read.
    expect(evaluated.body.data.evaluated).to.be.above(0.9 * evaluated.body.data.requests)
    const [{ x_request_id: id }] = (
      await other.call('GET', '/admin/requests?status=200&limit=1', undefined, headers)
    ).body.data
    const prompt = await other.call('GET', `/admin/requests/${id}/prompt`, undefined, headers)
    expect(prompt.body.data.request.messages.at(-1).content).to.be.a('string')
    await other.stop()
  })

  it('refuses a data folder that is not empty, and invalid options', async () => {
    const folder = await makeFolder()
    await writeFile(path.join(folder, 'notes.txt'), '')
    const refused = await runCommand(['demo', '--no-start'], { DATA_DIR: folder })
    expect(refused).to.deep.include({ code: 1, stdout: '' })
    expect(refused.stderr).to.contain(`${folder} is not empty. Nothing was changed. Set DATA_DIR`)
    const invalid = await runCommand(['demo', '--days', '0', '--no-start'], { DATA_DIR: folder })
    expect(invalid.code).to.equal(2)
    expect(invalid.stderr).to.contain('DAYS must be an integer from 1 to 365.')
  })
})
