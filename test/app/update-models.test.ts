import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { startSandbox } from '../../providers/sandbox/server.ts'
import { chatBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'
import { ROOT } from '../support/root.ts'

const readPrices = (name: string) =>
  JSON.parse(readFileSync(new URL(`test/fixtures/prices/${name}.json`, ROOT), 'utf8'))

/** Entries of LiteLLM's file, in USD per token. */
const LITELLM = readPrices('litellm')

/** The providers of models.dev's `api.json`, in USD per million tokens. */
const MODELS_DEV = readPrices('models-dev')

describe('signalbox models update', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = await makeFolder()
  })

  const written = async () => load(await readFile(path.join(dataDir, 'models.yaml'), 'utf8')) as Row[]
  type Row = Record<string, unknown> & { id: string }

  async function update(content: unknown, ...options: readonly string[]) {
    const file = path.join(await makeFolder(), 'prices.json')
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
    const result = await runCommand(['models', 'update', file, ...options], { DATA_DIR: dataDir })
    const lines = result.stdout.split('\n\n')[0]!.split('\n').slice(1)
    return { ...result, rows: lines.map((line) => line.split(/ {2,}/)) }
  }

  it("applies LiteLLM's file: prices, retirements and new models", async () => {
    const { code, stdout, rows } = await update(LITELLM)
    expect(code, stdout).to.equal(0)
    expect(rows).to.deep.equal([
      ['dearer', 'openai', 'gpt-4o', 'input', '2.5', '3', '+20 %'],
      ['cheaper', 'openai', 'gpt-4o', 'cached', '1.25', '1', '-20 %'],
      ['retired', 'openai', 'gpt-4o-mini', '2026-02-01'],
      ['new', 'openai', 'gpt-99', 'input', '-', '7'],
      ['new', 'openai', 'gpt-99-pro', 'input', '-', '70'],
      ['refused', 'openai', 'gpt-4.1', 'input', '2', '0', '-100 %'],
      ['refused', 'openai', 'gpt-4.1', 'output', '8', '0', '-100 %'],
      ['incomplete', 'gemini', 'gemini-9'],
    ])
    expect(stdout).to.contain('--accept')
    const [changed, retired, added, pro, ...others] = await written()
    expect(others).to.deep.equal([])
    expect(changed).to.deep.include({
      id: 'gpt-4o',
      price: { input: 3, cached: 1, output: 10 },
      max_output: 16384,
    })
    expect(retired).to.deep.include({ id: 'gpt-4o-mini', retires: '2026-02-01' })
    expect(added).to.deep.include({
      id: 'gpt-99',
      provider: 'openai',
      context: 500000,
      max_output: 100000,
      price: { input: 7, output: 21, above: { input_tokens: 272000, input: 14, output: 42 } },
      capabilities: { tools: true, images: true, json: 'schema' },
      reasoning: true,
      sampling: false,
      quirks: { responses: true },
      automatic: false,
    })
    expect(pro).to.deep.include({ id: 'gpt-99-pro', quirks: { responses: 'always' } })
  })

  it("applies models.dev's api.json", async () => {
    const { code, stdout, rows } = await update(MODELS_DEV)
    expect(code, stdout).to.equal(0)
    expect(rows).to.deep.equal([
      ['new', 'gemini', 'gemini-9-flash', 'input', '-', '1'],
      ['cheaper', 'gemini', 'gemini-3.8-flash', 'input', '0.75', '0.5', '-33.3 %'],
      ['deprecated', 'gemini', 'gemini-3.8-flash'],
    ])
    const [added, changed] = (await written()).toSorted((a, b) => (a.id < b.id ? 1 : -1))
    expect(added).to.deep.include({
      price: {
        input: 1,
        cached: 0.1,
        output: 5,
        above: { input_tokens: 200000, input: 2, cached: 0.2, output: 10 },
      },
      context: 1048576,
      automatic: false,
    })
    expect(changed).to.deep.include({ automatic: false })
  })

  it('keeps what earlier updates found, and finds nothing the second time', async () => {
    await update(MODELS_DEV)
    await update(LITELLM)
    expect((await written()).map(({ id }) => id)).to.have.members([
      'gpt-4o',
      'gpt-4o-mini',
      'gpt-99',
      'gpt-99-pro',
      'gemini-9-flash',
      'gemini-3.8-flash',
    ])
    const again = await update(MODELS_DEV)
    expect(again.code).to.equal(0)
    expect(again.stdout).to.contain('No changes')
  })

  it('applies what looks like a mistake only with --accept', async () => {
    await update(LITELLM, '--accept')
    expect((await written()).find(({ id }) => id === 'gpt-4.1')?.price).to.deep.include({
      input: 0,
      output: 0,
    })
  })

  it('writes nothing with --dry-run, nor for a source that it cannot read', async () => {
    expect((await update(LITELLM, '--dry-run')).rows).to.have.length(8)
    for (const [content, reason] of [
      ['{', 'is not valid YAML or JSON'],
      [{ hello: 'world' }, 'has no prices'],
      [{ openai: { models: { x: { id: 'x', cost: { input: -1, output: 1 } } } } }, 'has no prices'],
    ] as const) {
      const { code, stderr } = await update(content)
      expect([code, stderr.includes(reason)], stderr).to.deep.equal([1, true])
    }
    expect(await written().catch(({ code }) => code)).to.equal('ENOENT')
  })

  it('reads a URL, and refuses one that fails, redirects elsewhere or sends too much', async () => {
    const server = createServer((request, response) => {
      if (request.url === '/prices?token=secret') return response.end(JSON.stringify(LITELLM))
      if (request.url === '/large') return response.end(Buffer.alloc(33_000_000, ' '))
      if (request.url === '/elsewhere')
        return response.writeHead(302, { location: 'file:///etc/passwd' }).end()
      return response.writeHead(500).end('secret of the server')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const from = (url: string) => runCommand(['models', 'update', url], { DATA_DIR: dataDir })
    const found = await from(`${base}/prices?token=secret`)
    expect(found.code, found.stderr).to.equal(0)
    expect(found.stdout).not.to.contain('secret')
    for (const [url, reason] of [
      [`${base}/missing`, 'HTTP 500'],
      [`${base}/large`, '32 MB'],
      [`${base}/elsewhere`, 'cannot be read'],
      ['ftp://example.com/prices', 'http or https'],
    ] as const) {
      const { code, stderr } = await from(url)
      expect([code, stderr.includes(reason), stderr.includes('secret')], stderr).to.deep.equal([
        1,
        true,
        false,
      ])
    }
    server.close()
  })

  describe('with a running gateway', () => {
    let gateway: RunningGateway
    beforeEach(async () => {
      gateway = await startGateway({ DATA_DIR: dataDir }, { dataDir })
    })
    afterEach(() => gateway.stop())

    const chat = (model: string) => gateway.call('POST', '/v1/chat/completions', chatBody('Hello', { model }))

    it('is in force without a restart, and a broken file leaves the rows as they were', async () => {
      // Passed to the provider of its family.
      expect((await chat('gpt-99')).body.signalbox.cost_usd).to.equal(null)
      const before = (await chat('gpt-4o')).body.signalbox.cost_usd
      await update(LITELLM)
      await gateway.wrote('model catalogue reloaded')
      const served = await chat('gpt-99')
      expect([served.status, served.body.model]).to.deep.equal([200, 'gpt-99'])
      expect(served.body.signalbox.cost_usd).to.be.above(0)
      expect((await chat('gpt-4o')).body.signalbox.cost_usd).to.be.greaterThan(before)

      await writeFile(path.join(dataDir, 'models.yaml'), '- id: gpt-99\n  provider: openai\n')
      await gateway.wrote('model catalogue not reloaded')
      expect(gateway.stderr()).to.contain('models.yaml: [0].context is required')
      expect((await chat('gpt-99')).status).to.equal(200)
    })
  })

  it('asks new models of OpenAI in the API that takes the request', async () => {
    await update(LITELLM)
    const sandbox = await startSandbox({ record: 5 })
    const gateway = await startGateway({ ...providersAt(sandbox), DATA_DIR: dataDir }, { dataDir })
    const tools = [{ type: 'function', function: { name: 'look' } }]
    for (const [body, path] of [
      [chatBody('Hello', { model: 'gpt-99' }), '/openai/v1/chat/completions'],
      [chatBody('Hello', { model: 'gpt-99', tools }), '/openai/v1/responses'],
      [chatBody('Hello', { model: 'gpt-99-pro' }), '/openai/v1/responses'],
    ] as const) {
      const { status } = await gateway.call('POST', '/v1/chat/completions', body)
      expect([status, sandbox.requests.at(-1)?.path]).to.deep.equal([200, path])
    }
    await gateway.stop()
    await sandbox.close()
  })

  it('is read at a start, which a broken file does not prevent', async () => {
    await update(LITELLM)
    const gateway = await startGateway({ DATA_DIR: dataDir }, { dataDir })
    expect((await gateway.call('GET', '/v1/models/gpt-99')).body).to.have.property('price')
    await gateway.stop()
    await writeFile(path.join(dataDir, 'models.yaml'), 'hello')
    const { code, stdout } = await runCommand(['config', 'check'], { DATA_DIR: dataDir })
    expect([code, stdout.includes('models.yaml')]).to.deep.equal([0, true])
    const { demoKey } = gateway
    const again = await startGateway({ DATA_DIR: dataDir }, { dataDir, demoKey })
    expect((await again.call('GET', '/v1/models/gpt-99')).body).not.to.have.property('price')
    await again.stop()
  })
})
