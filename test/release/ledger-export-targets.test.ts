import { execFile } from 'node:child_process'
import { appendFile, open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { startLangfuse } from '../support/langfuse.ts'
import {
  ask,
  EXPORT_SECRET,
  type ExportedBody,
  exportingTo,
  exportsBegan,
  idOf,
  parseLines,
  readLines,
} from '../support/ledger-export.ts'
import { callToolRaw } from '../support/mcp/raw-call.ts'
import { scrape, scrapeUntil } from '../support/metrics.ts'
import { withSettings } from '../support/settings.ts'
import { startSignedWebhook } from '../support/signed-webhook.ts'
import { waitUntil } from '../support/wait.ts'

describe('the ledger export', () => {
  let hook: Awaited<ReturnType<typeof startSignedWebhook<ExportedBody>>>
  let folder: string
  const gateways: RunningGateway[] = []

  beforeEach(async () => {
    hook = await startSignedWebhook<ExportedBody>(EXPORT_SECRET)
    folder = path.join(await makeFolder(), 'exported')
  })
  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.stop()))
    hook.close()
  })

  async function start(targets: readonly object[], begin = startGateway, options = {}) {
    const config = await withSettings(exportingTo(targets))
    const gateway = await begin({ ...config, LEDGER_EXPORT_SECRET: EXPORT_SECRET }, options)
    gateways.push(gateway)
    await exportsBegan(gateway, targets.length)
    return gateway
  }

  it('sends requests and tool calls to each target in order, as the endpoints show them', async () => {
    const gateway = await start([
      { to: 'file', folder },
      { to: 'webhook', name: 'warehouse', url: hook.url },
    ])
    const server = { name: 'files', url: 'http://127.0.0.1:1' }
    await gateway.call('POST', '/admin/tool-servers', server, AS_ADMIN)
    const first = await ask(gateway, 'One')
    await callToolRaw(gateway, gateway.demoKey, { server: 'files', tool: 'read' })
    await waitUntil(async () => (await readLines(folder)).length === 2)
    const lines = await readLines(folder)
    expect(lines.map(({ kind }) => kind)).to.have.members(['request', 'tool_call'])
    const request = lines.find(({ kind }) => kind === 'request')
    const { body } = await gateway.call('GET', `/admin/requests/${first}`, undefined, AS_ADMIN)
    for (const field of ['time', 'user_id', 'model', 'tokens', 'cost_usd', 'latency_ms', 'endpoint'])
      expect(request?.[field], field).to.deep.equal(body.data[field])
    const call = lines.find(({ kind }) => kind === 'tool_call')
    expect(call).to.include({ server: 'files', tool: 'read' })
    expect(JSON.stringify(lines)).not.to.contain('One')

    const last = await ask(gateway, 'Two')
    const readPosted = () => hook.bodies.flatMap(({ data }) => data.records)
    await waitUntil(() => readPosted().length === 3)
    const posted = readPosted()
    expect(hook.state.unsigned).to.equal(0)
    expect(posted.map(idOf)).to.deep.equal([...lines.map(idOf), last])
    const numbers = posted.map(({ number }) => number)
    expect(numbers).to.deep.equal(numbers.toSorted((a, b) => a - b))
    const [post] = hook.bodies
    expect(post).to.include({ type: 'ledger.records' })
    expect(post?.data).to.include({ export: 'warehouse', first: numbers[0] })
    expect(hook.ids[0]).to.equal(`warehouse.${post?.data.first}-${post?.data.last}`)

    const [file = ''] = await readdir(folder)
    expect(file).to.match(/^ledger-\d{4}-\d\d-\d\d\.ndjson$/)
    expect((await stat(path.join(folder, file))).mode & 0o777).to.equal(0o600)
    const metrics = await scrapeUntil(
      gateway,
      ({ sum }) => sum('signalbox_ledger_export_records_total', { outcome: 'exported' }) === 6,
    )
    expect(metrics.sum('signalbox_ledger_export_failures_total')).to.equal(0)
    await scrapeUntil(gateway, ({ sum }) => sum('signalbox_ledger_export_waiting_records') === 0)
  })

  it('keeps what a target does not take, for the next start, too, and delays no other target', async () => {
    hook.state.status = 500
    const targets = [
      { to: 'file', folder },
      { to: 'webhook', url: hook.url },
    ]
    const first = await start(targets, startGatewayOnFiles)
    const ids = [await ask(first), await ask(first)]
    await waitUntil(async () => (await readLines(folder)).length === 2)
    await waitUntil(() => hook.state.calls > 1)
    const away = await scrape(first)
    const webhook = { target: 'webhook' }
    expect(away.sum('signalbox_ledger_export_failures_total', webhook)).to.be.above(0)
    expect(away.sum('signalbox_ledger_export_waiting_records', webhook)).to.equal(2)
    expect(away.sum('signalbox_ledger_export_lag_seconds', webhook)).to.be.above(0)
    expect(away.sum('signalbox_ledger_export_waiting_records', { target: 'file' })).to.equal(0)
    expect(first.stderr()).to.contain('ledger export failed; retrying').and.not.contain('token=hidden')
    await first.stop()

    hook.state.status = 200
    const { dataDir, demoKey } = first
    const second = await start(targets, startGatewayOnFiles, { dataDir, demoKey })
    ids.push(await ask(second))
    await waitUntil(async () => hook.bodies.flatMap(({ data }) => data.records).length === 3)
    expect(hook.bodies.flatMap(({ data }) => data.records).map(idOf)).to.deep.equal(ids)
    await waitUntil(async () => (await readLines(folder)).length === 3)
    expect((await readLines(folder)).map(idOf)).to.deep.equal(ids)
  })

  it('cuts off a line that a crash has left unfinished, and appends no record twice', async () => {
    const gateway = await start([{ to: 'file', folder }])
    const first = await ask(gateway)
    await waitUntil(async () => (await readLines(folder)).length === 1)
    const [name = ''] = await readdir(folder)
    await appendFile(path.join(folder, name), '{"kind":"request","num')
    const second = await ask(gateway)
    await waitUntil(async () => (await readLines(folder).catch(() => [])).length === 2)
    expect((await readLines(folder)).map(idOf)).to.deep.equal([first, second])
  })

  it('writes a record again of which a full disk took only the beginning', async function () {
    // A limit of this process is the nearest to a full disk that needs no rights.
    if (process.platform !== 'linux') return this.skip()
    const limitFiles = (bytes: number | 'unlimited') =>
      promisify(execFile)('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:unlimited`])
    const gateway = await start([{ to: 'file', folder }])
    const first = await ask(gateway)
    await waitUntil(async () => (await readLines(folder)).length === 1)
    const [name = ''] = await readdir(folder)
    const file = path.join(folder, name)
    const { size } = await stat(file)
    // A hole of 1 GB before the line, so that no other file reaches the limit.
    const hole = 2 ** 30
    const line = await readFile(file)
    const handle = await open(file, 'r+')
    await handle.write('\n', hole - 1)
    await handle.write(line, 0, size, hole)
    await handle.close()
    await limitFiles(hole + size + 100)
    let second: string
    try {
      second = await ask(gateway)
      const ends = ['failures', 'records'].map((name) => `signalbox_ledger_export_${name}_total`)
      await scrapeUntil(gateway, ({ sum }) => ends.reduce((total, name) => total + sum(name), 0) > 1)
    } finally {
      await limitFiles('unlimited')
    }
    const readEnd = async () => {
      const opened = await open(file)
      const { buffer, bytesRead } = await opened.read(Buffer.alloc(65_536), 0, 65_536, hole)
      await opened.close()
      return parseLines(buffer.subarray(0, bytesRead).toString()).map(idOf)
    }
    await scrapeUntil(gateway, ({ sum }) => sum('signalbox_ledger_export_waiting_records') === 0)
    expect(await readEnd()).to.deep.equal([first, second])
  })

  it('reads the address of a webhook from a file, and names only the file in errors', async () => {
    const file = path.join(await makeFolder(), 'address')
    await writeFile(file, 'not an address')
    const gateway = await start([{ to: 'webhook', url: `file:${file}` }])
    const id = await ask(gateway)
    await gateway.wrote('ledger export failed; retrying')
    expect(gateway.stderr()).to.contain(`what is at file:${file} is not a URL`)
    expect(gateway.stderr()).not.to.contain('not an address')
    await writeFile(file, `${hook.url}\n`)
    await waitUntil(() => hook.bodies.length > 0)
    expect(hook.bodies[0]?.data.records.map(idOf)).to.deep.equal([id])
  })

  it('sends spans to Langfuse, with tokens, cost and errors', async () => {
    const langfuse = await startLangfuse()
    const file = path.join(await makeFolder(), 'secret')
    await writeFile(file, 'sk-lf-secret')
    const keys = { public_key: 'pk-lf-1', secret_key: `file:${file}` }
    const gateway = await start([{ to: 'langfuse', url: `${langfuse.url}/base/`, ...keys, batch_seconds: 1 }])
    await gateway.call('POST', '/admin/tool-servers', { name: 'files', url: 'http://127.0.0.1:1' }, AS_ADMIN)
    const id = await ask(gateway)
    await callToolRaw(gateway, gateway.demoKey, { server: 'files', tool: 'read' })
    await waitUntil(() => langfuse.spans.length === 2)
    expect(langfuse.heads[0]).to.deep.equal({
      url: '/base/api/public/otel/v1/traces',
      authorization: `Basic ${Buffer.from('pk-lf-1:sk-lf-secret').toString('base64')}`,
    })
    const { body } = await gateway.call('GET', `/admin/requests/${id}`, undefined, AS_ADMIN)
    const { time, latency_ms, model, tokens, cost_usd, user_id } = body.data
    const generation = langfuse.spans.find(({ attributes }) => attributes.type === 'generation')
    expect(generation?.traceId).to.match(/^[0-9a-f]{32}$/)
    expect(generation?.spanId).to.match(/^[0-9a-f]{16}$/)
    expect(generation?.start).to.equal(Date.parse(time))
    expect(generation?.end).to.equal(Date.parse(time) + latency_ms)
    expect(generation?.attributes).to.include({ 'model.name': model, 'user.id': String(user_id) })
    expect(generation?.attributes['metadata.request_id']).to.equal(id)
    const usage = JSON.parse(generation?.attributes.usage_details ?? '')
    expect(usage).to.include({ total: tokens.input + tokens.output, input_cached_tokens: tokens.cached })
    const { total, ...parts } = usage
    expect(Object.values<number>(parts).reduce((sum, part) => sum + part, 0)).to.equal(total)
    expect(JSON.parse(generation?.attributes.cost_details ?? '')).to.deep.equal({ total: cost_usd })
    const tool = langfuse.spans.find(({ attributes }) => attributes.type === 'tool')
    expect(tool?.name).to.equal('files read')
    expect(tool?.attributes).to.include.keys('level', 'status_message', 'metadata.verdict')
    langfuse.close()
  })

  it('is sent by one of two gateways that share a ledger, and by the other one when it stops', async () => {
    const targets = [{ to: 'webhook', url: hook.url }]
    const one = await start(targets, startGatewayOnFiles)
    const { dataDir, demoKey } = one
    const other = await start(targets, startGatewayOnFiles, { dataDir, demoKey })
    const ids = await Promise.all([one, other, one, other].map((gateway) => ask(gateway)))
    const posted = () => hook.bodies.flatMap(({ data }) => data.records).map(idOf)
    await waitUntil(() => posted().length >= 4)
    await one.stop()
    gateways.splice(gateways.indexOf(one), 1)
    ids.push(await ask(other))
    await waitUntil(() => posted().length >= 5)
    expect(posted()).to.have.members(ids)
  })

  it('counts what Langfuse refuses for good, and goes on', async () => {
    const langfuse = await startLangfuse({ partialSuccess: { rejectedSpans: 1 } })
    process.env.LANGFUSE_TEST_KEY = 'sk-lf-secret'
    const keys = { public_key: 'pk-lf-1', secret_key: 'env:LANGFUSE_TEST_KEY' }
    const gateway = await start([{ to: 'langfuse', url: langfuse.url, ...keys, batch_seconds: 1 }])
    await ask(gateway)
    await scrapeUntil(
      gateway,
      ({ sum }) => sum('signalbox_ledger_export_records_total', { outcome: 'refused' }) === 1,
    )
    delete process.env.LANGFUSE_TEST_KEY
    langfuse.close()
  })

  it('takes no number of refused spans from Langfuse that cannot be right', async () => {
    for (const [rejectedSpans, refused] of [
      [99, 1],
      [-5, 0],
      ['1e9', 1],
    ] as const) {
      const langfuse = await startLangfuse({ partialSuccess: { rejectedSpans } })
      const keyFile = path.join(await makeFolder(), 'key')
      await writeFile(keyFile, 'sk-lf-secret')
      const keys = { public_key: 'pk-lf-1', secret_key: `file:${keyFile}` }
      const gateway = await start([{ to: 'langfuse', url: langfuse.url, ...keys, batch_seconds: 1 }])
      await ask(gateway)
      const { sum } = await scrapeUntil(
        gateway,
        (metrics) => metrics.sum('signalbox_ledger_export_records_total') === 1,
      )
      expect(sum('signalbox_ledger_export_records_total', { outcome: 'refused' })).to.equal(refused)
      expect(gateway.stderr()).not.to.contain('cannot read the ledger')
      langfuse.close()
    }
  })

  it('keeps records for which something else than Langfuse answers, such as a page to sign in', async () => {
    const langfuse = await startLangfuse('<html>Sign in</html>')
    const keyFile = path.join(await makeFolder(), 'key')
    await writeFile(keyFile, 'sk-lf-secret')
    const keys = { public_key: 'pk-lf-1', secret_key: `file:${keyFile}` }
    const gateway = await start([{ to: 'langfuse', url: langfuse.url, ...keys, batch_seconds: 1 }])
    await ask(gateway)
    await gateway.wrote('ledger export failed; retrying')
    const metrics = await scrape(gateway)
    expect(metrics.sum('signalbox_ledger_export_records_total', { outcome: 'exported' })).to.equal(0)
    expect(metrics.sum('signalbox_ledger_export_waiting_records')).to.equal(1)
    langfuse.close()
  })

  it('names what is wrong with targets', async () => {
    const targets = [
      { to: 'file' },
      { to: 'file', folder: 'x', bucket: 'y' },
      { to: 'webhook', url: 'http://127.0.0.1/' },
      { to: 's3', name: 'file', bucket: 'b' },
      { to: 'kafka', topic: 't' },
      { to: 'langfuse', public_key: 'pk', secret_key: 'env:KEY', url: 'env:URL' },
      { to: 'file', name: 'again', folder: './x/' },
    ]
    const started = startGateway(await withSettings(exportingTo(targets)))
    const { message } = await started.then(
      () => expect.fail('the gateway started'),
      (error: Error) => error,
    )
    for (const part of [
      'ledger.export[0].folder is needed with to: file',
      'ledger.export[1].bucket has no effect on file; remove it',
      'ledger.export[1]: "file" is the name of another target, too',
      'ledger.export[2] needs a secret of at least 16 characters: set LEDGER_EXPORT_SECRET',
      'ledger.export[3]: "file" is the name of another target, too',
      'ledger.export[4].brokers is needed with to: kafka',
      'ledger.export[5].url must be a URL; only secret_key is a secret',
      'ledger.export[6].folder is that of another target, too; give it a folder of its own',
    ])
      expect(message).to.contain(part)
  })
})
