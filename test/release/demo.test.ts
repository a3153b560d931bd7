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

const toolServersUrl = 'http://127.0.0.1:9'

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

  it('has sessions of agents, whose calls of tools the rules of their time decided about', async () => {
    const sessions = (await read('/admin/sessions?limit=100')).data
    expect(sessions).to.have.length.above(20)
    expect(sessions.filter((session: { requests: number }) => session.requests > 2)).to.have.length.above(5)
    const withCalls = sessions.find((session: { tool_calls: number }) => session.tool_calls > 1)
    const steps = await read(`/admin/sessions/${withCalls.session_id}?user=${withCalls.user_id}`)
    const kinds = steps.data.steps.map(({ kind }: { kind: string }) => kind)
    expect(kinds).to.include.members(['request', 'tool_call'])

    const calls = (await read('/admin/tool-calls?limit=500')).data
    const verdicts = new Set(calls.map(({ verdict }: { verdict: string }) => verdict))
    expect([...verdicts]).to.include.members(['allowed', 'denied', 'pending_approval', 'approved'])
    const failures = calls.filter(({ error_code }: { error_code: string | null }) =>
      ['tool_error', 'tool_server_error', 'tool_call_timeout'].includes(error_code ?? ''),
    )
    expect(failures).to.have.length.within(1, calls.length / 5)
    const allowed = calls.filter(({ verdict }: { verdict: string }) => verdict === 'allowed')
    for (const call of allowed) expect(call.duration_ms).to.be.above(call.upstream_ms).and.to.be.above(1)
    const last = allowed.find(({ server }: { server: string }) => server === 'repository')
    const simulate = async (tool_call: object, more: object = {}) => {
      const body = { user_id: last.user_id, tool_call: { server: 'repository', ...tool_call }, ...more }
      return (await gateway.call('POST', '/admin/simulate', body, asOperator)).body.data
    }
    const again = await simulate({ tool: last.tool, arguments: {} }, { request_id: last.id })
    expect(again.recorded).to.include({ is_same: true })
    const verdictAbout = async (tool: string, read: string[]) =>
      (await simulate({ tool, arguments: {}, read })).verdict
    expect(await verdictAbout('delete_branch', [])).to.equal('denied')
    expect(await verdictAbout('merge_pull_request', [])).to.equal('pending_approval')
    expect(await verdictAbout('open_pull_request', [])).to.equal('allowed')
    expect(await verdictAbout('open_pull_request', ['web'])).to.equal('pending_approval')
  })

  it('has tool servers, with tools that are approved, changed and rejected', async () => {
    const servers = (await read('/admin/tool-servers?tool_counts=true')).data
    const undecided = servers.map(({ name, undecided_tools }: { name: string; undecided_tools: number }) => [
      name,
      undecided_tools,
    ])
    expect(undecided).to.deep.equal([
      ['repository', 0],
      ['tickets', 1],
      ['web', 0],
    ])
    const [, tickets, web] = servers
    const changed = (await read(`/admin/tool-servers/${tickets.id}/tools/add_comment/history`)).data
    expect(changed.map(({ event }: { event: string }) => event)).to.deep.equal(['seen', 'approved', 'seen'])
    expect(JSON.stringify(changed.at(-1).diff)).to.contain('notify')
    const [suspicious] = (await read(`/admin/tool-servers/${web.id}/tools?status=rejected`)).data
    expect(suspicious.name).to.equal('summarize_page')
    const { findings } = suspicious
    expect(JSON.stringify(findings)).to.contain('instruction_override').and.to.contain('exfiltration')
  })

  it('has approvals that operators granted and denied with reasons', async () => {
    const approvals = (await read('/admin/approvals?limit=100')).data
    const statuses = new Set(approvals.map(({ status }: { status: string }) => status))
    expect([...statuses]).to.include.members(['used', 'denied'])
    const { data } = await read('/admin/audit?kind=approval&limit=200')
    const decided = data.filter(({ event }: { event: string }) => event === 'granted' || event === 'denied')
    expect(decided).to.not.have.length(0)
    for (const { actor, reason } of decided) {
      expect(actor.type).to.equal('operator')
      expect(reason).to.be.a('string')
    }
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
      const { requests, events } = await fillDemo(settings, { days: 1, seed: 5, end, toolServersUrl }, logger)
      const { stdout } = await runCommand(['log', 'export'], { DATA_DIR: settings.data_dir })
      const same =
        /"time":"[^"]+"|"reason":"[^"]+"|"limitUsd":[^,]+|"argumentsDigest":"[^"]+"|"sessionId":"[^"]+"/g
      return { requests, events, changes: stdout.match(same) }
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
    const period = { days: 1, seed: 5, end: Date.now(), toolServersUrl }
    const filled = await fillDemo(settings, period, logger)
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
