import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { ADMIN_KEY, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { runSignalbox } from '../support/gateway-process.ts'
import { readScrape } from '../support/metrics.ts'
import { newUser } from '../support/new-user.ts'
import { hasTools, readBlocks, readCurlBlocks, runBlock } from '../support/pages.ts'
import { BUILT_IN, installExamples, listPlugins } from '../support/plugins.ts'
import { ROOT } from '../support/root.ts'
import { describeInFull } from '../support/rounds.ts'
import { skip } from '../support/skip.ts'
import { waitUntil } from '../support/wait.ts'

const PACKAGE = fileURLToPath(new URL('test/fixtures/packages/signalbox-votes', ROOT))

const VOTES = { use: 'signalbox-votes', options: { path: '/v1/rating' } }

let installedExample: Promise<string> | undefined

/** The folder of a project in which npm has installed the example package. */
function installExample(): Promise<string> {
  installedExample ??= installExamples(['signalbox-votes'])
  return installedExample
}

const rate = (gateway: RunningGateway, good: unknown) => gateway.call('POST', '/v1/rating', { good })
const ratings = async (gateway: RunningGateway) => (await gateway.call('GET', '/v1/rating')).body.data

describe('the page about plugins', () => {
  it('shows the source of the example package', async () => {
    const page = await readFile(new URL('docs/plugins.md', ROOT), 'utf8')
    expect(page).to.contain(`\`\`\`js\n${await readFile(path.join(PACKAGE, 'index.js'), 'utf8')}\`\`\``)
  })

  it('shows settings and commands that work as described', async function () {
    this.timeout(180_000)
    if (!(await hasTools())) skip(this, 'curl or jq is not installed')
    const folder = await installExample()
    const blocks = await readBlocks('docs/plugins.md', 'yaml')
    const CONFIG = path.join(folder, 'settings.yaml')
    await writeFile(CONFIG, blocks.find((block) => block.includes('signalbox-votes')) ?? '')
    const gateway = await startGatewayOnFiles({ CONFIG }, { pluginFolder: folder })

    const [block] = await readCurlBlocks('docs/plugins.md')
    const answers = (await runBlock(gateway, block)).replaceAll('}{', '}\n{').split('\n')
    const [rated, rule] = answers.map((line) => JSON.parse(line))

    expect(rated).to.deep.equal({ data: { good: 0, bad: 1 } })
    expect(block).to.contain(JSON.stringify(rated))
    expect(rule.data.match_json).to.deep.equal({ unhappy: 1 })
    await gateway.stop()
  })
})

describe('a plugin package', () => {
  describe('on the embedded log', () =>
    followsTheContract(async () => ({ environment: {}, async stop() {} })))
  describeInFull('on EventStoreDB', () =>
    followsTheContract(async () => {
      const server = await startEventStore({ file: path.join(await makeFolder(), 'events.db') })
      return { environment: { EVENTSTORE_URL: server.connectionString }, stop: () => server.stop() }
    }),
  )
})

/** Where the events are. */
interface LogPlace {
  readonly environment: Record<string, string>
  stop(): Promise<void>
}

function followsTheContract(openLogPlace: () => Promise<LogPlace>): void {
  let place: LogPlace
  let folder: string
  let dataDir: string
  let withPackage: Record<string, string>
  let withoutPackage: Record<string, string>
  let gateway: RunningGateway

  before(async function () {
    this.timeout(180_000)
    place = await openLogPlace()
    folder = await installExample()
    dataDir = await makeFolder()
    const [auth, limit, plan, ...rest] = BUILT_IN
    withPackage = {
      ...place.environment,
      CONFIG: await listPlugins(folder, [auth, limit, plan, VOTES, ...rest]),
    }
    withoutPackage = { ...place.environment, CONFIG: await listPlugins(await makeFolder(), BUILT_IN) }
    gateway = await start(withPackage)
  })

  after(async () => {
    await gateway?.stop()
    await place?.stop()
  })

  const start = (environment: Record<string, string>, demoKey = gateway?.demoKey) =>
    startGatewayOnFiles(environment, {
      dataDir,
      pluginFolder: folder,
      ...(demoKey !== undefined && { demoKey }),
    })

  const restart = async (environment: Record<string, string>) => {
    await gateway.stop()
    gateway = await start(environment)
  }

  const log = async (verb: string, environment: Record<string, string>) =>
    runSignalbox(['log', verb], { ...environment, DATA_DIR: dataDir }, folder)

  it('adds a middleware and an endpoint', async () => {
    const answer = await gateway.call('POST', '/v1/chat/completions', {
      messages: [{ role: 'user', content: 'Hello' }],
    })
    expect(answer.headers.get('link')).to.equal('</v1/rating>; rel="votes"')

    expect((await gateway.call('GET', '/v1/rating', undefined, { authorization: '' })).status).to.equal(401)
    const refused = await rate(gateway, 'very')
    expect(refused.status).to.equal(400)
    expect(refused.body.error).to.deep.equal({
      message: 'good must be true or false.',
      type: 'invalid_request_error',
      code: 'invalid_value',
      http_status: 400,
      param: 'good',
    })
  })

  it('adds events, whose state includes what was just written', async () => {
    const { status, body } = await rate(gateway, true)
    expect(status).to.equal(201)
    expect(body.data).to.deep.equal({ good: 1, bad: 0 })

    const answers = await Promise.all(Array.from({ length: 20 }, () => rate(gateway, true)))
    expect(Math.max(...answers.map(({ body }) => body.data.good))).to.equal(21)
    expect(await ratings(gateway)).to.deep.equal({ good: 21, bad: 0 })
  })

  it('adds a metric', async () => {
    const authorization = `Bearer ${ADMIN_KEY}`
    const page = await fetch(`${gateway.url}/metrics`, { headers: { authorization } })
    const scrape = readScrape(await page.text())

    expect(scrape.sum('votes_total', { verdict: 'good' })).to.equal(21)
    expect(scrape.sum('signalbox_unknown_events_total')).to.equal(0)
  })

  it('adds a condition and an action for routing rules', async () => {
    const user = await newUser(gateway)
    const rule = {
      name: 'care',
      is_enabled: true,
      priority: 1,
      match_json: { unhappy: 2 },
      action_json: { tell_model: 'Take your time.', set_mode: 'quality' },
    }
    const misspelt = await user.call('POST', '/v1/routing-rules', { ...rule, match_json: { unhappy: 0 } })
    expect(misspelt.body.error.errors.match_json).to.deep.equal(['unhappy must be a whole number from 1 on.'])
    expect((await user.call('POST', '/v1/routing-rules', rule)).status).to.equal(201)
    const simulate = async () => {
      const messages = [{ role: 'user', content: 'Hello' }]
      return (await user.call('POST', '/v1/simulate', { messages })).body.data
    }

    await user.call('POST', '/v1/rating', { good: false })
    expect(await simulate()).to.include({ routing_mode: 'balance' })
    await user.call('POST', '/v1/rating', { good: false })
    const decision = await simulate()
    expect(decision.routing_mode).to.equal('quality')
    expect(decision.request.messages[0]).to.deep.equal({ role: 'system', content: 'Take your time.' })
  })

  it('has its events in the log under its name, with their actor', async () => {
    const { stdout } = await log('export', withPackage)
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const [first] = events.filter(({ stream }) => stream.startsWith('plugin-'))

    expect(first).to.deep.include({
      stream: 'plugin-signalbox-votes:user-1',
      revision: 0,
      type: 'signalbox-votes:Rated',
      data: { userId: 1, good: true },
    })
    expect(first.metadata.actor).to.include({ type: 'key', name: 'demo' })
    expect(first.metadata.actor.id).to.match(/^key_/)
    expect(first.metadata.requestId).to.match(/^req_/)
  })

  it('sees on one node what another node has written', async function () {
    this.timeout(180_000)
    const other = await start(withPackage)
    expect(await ratings(other)).to.deep.equal(await ratings(gateway))

    await rate(other, false)
    await waitUntil(async () => (await ratings(gateway)).bad >= 1)
    await rate(gateway, false)
    await waitUntil(async () => (await ratings(other)).bad >= 2)
    await other.stop()
  })

  it('rebuilds its state after a start from a snapshot, which does not contain it', async function () {
    this.timeout(180_000)
    const before = await ratings(gateway)
    await restart(withPackage)
    expect(await ratings(gateway)).to.deep.equal(before)

    await rate(gateway, true)
    expect(await ratings(gateway)).to.deep.equal({ ...before, good: before.good + 1 })
  })

  it('leaves a log that works without it, and finds its events again', async () => {
    const before = await ratings(gateway)
    await restart(withoutPackage)
    expect((await gateway.call('GET', '/v1/rating')).status).to.equal(404)
    expect((await gateway.call('GET', '/v1/audit')).body.data).not.to.have.length(0)
    expect((await gateway.call('GET', '/v1/routing-rules')).status).to.equal(200)
    const verified = await log('verify', withoutPackage)
    expect(verified.stdout).to.contain('events belong to plugins that are not listed: signalbox-votes:Rated.')
    expect(verified).to.include({ code: 0, stderr: '' })

    await restart(withPackage)
    expect(await ratings(gateway)).to.deep.equal(before)
  })

  it('has its events and state verified with the log', async function () {
    this.timeout(180_000)
    const { code, stdout, stderr } = await log('verify', withPackage)

    expect(stderr).to.equal('')
    expect(stdout).to.contain('No issues found.')
    expect(stdout).not.to.contain('not listed')
    expect(stdout).not.to.contain('only')
    expect(code).to.equal(0)
  })
}
