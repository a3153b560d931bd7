import { EventEmitter, once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { dump } from 'js-yaml'
import OpenAI from 'openai'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { readBlocks } from '../support/pages.ts'
import { installAll } from '../support/plugins.ts'
import { writeSettings } from '../support/settings-file.ts'

const KEY = 'tr4in-n0-known-prefix'

/** The package of docs/plugins.md. Its wire format has nothing in common with the built-in ones. */
async function readTelegraph(): Promise<string> {
  const blocks = await readBlocks('docs/plugins.md', 'js')
  return blocks.find((block) => block.includes("format: 'telegraph'")) ?? expect.fail('no such package')
}

const MODEL = {
  id: 'morse-1',
  provider: 'post',
  context: 1000,
  max_output: 100,
  price: { input: 1, output: 2 },
  quality: 50,
  latency_ms: 100,
  capabilities: { tools: false, images: false, json: 'none' },
}

describe('a plugin package with a wire format of its own', () => {
  let server: Server
  let gateway: RunningGateway
  const client = new EventEmitter()

  before(async () => {
    server = createServer(async (request, response) => {
      const { station, lines, piecewise } = JSON.parse(await text(request))
      const fault = /fault (\w+)/.exec(lines.at(-1))?.[1]
      if (request.url !== '/office/telegrams' || request.headers['x-telegraph-key'] !== KEY) {
        response.writeHead(401).end(JSON.stringify({ error: `not ${JSON.stringify(request.headers)}` }))
      } else if (fault === '429') {
        response.writeHead(429, { 'retry-after': '7' }).end('busy')
      } else if (fault === '422') {
        response.writeHead(422).end(JSON.stringify({ error: { message: `${KEY} may not say that` } }))
      } else if (piecewise) {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const send = (event: string, data: object) =>
          response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
        send('begin', { number: 'T1', station })
        for (const word of ['TRACK ', 'NINE ', 'STOP']) send('word', { text: word })
        if (fault === 'cut') {
          await once(client, 'received')
          send('fault', {})
        } else send('end', { heard: 3, said: 4 })
        response.end()
      } else {
        response.end(
          JSON.stringify({ number: 'T1', station, telegram: 'TRACK NINE STOP', heard: 3, said: 4 }),
        )
      }
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const pluginFolder = await installAll({ telegraph: await readTelegraph() })
    const CONFIG = await writeSettings(
      dump({
        plugins: { add: ['telegraph'] },
        providers: { post: { format: 'telegraph', base_url: `http://127.0.0.1:${port}/office` } },
        models: [MODEL],
        rate_limits: { requests_per_minute: { free: null, paid: null } },
      }),
    )
    gateway = await startGateway({ CONFIG, POST_API_KEY: KEY }, { pluginFolder })
  })
  after(async () => {
    await gateway?.stop()
    server.close()
  })

  const ask = (content: string, more: object = {}) =>
    gateway.call('POST', '/v1/chat/completions', {
      model: 'morse-1',
      messages: [{ role: 'user', content }],
      ...more,
    })

  it('answers whole, with usage, cost and warnings', async () => {
    const { status, body } = await ask('Which track?', { temperature: 1 })
    expect(status, JSON.stringify(body)).to.equal(200)
    expect(body).to.include({ provider: 'post', model: 'morse-1' })
    expect(body.choices[0].message.content).to.equal('TRACK NINE STOP')
    expect(body.usage).to.deep.include({ prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 })
    expect(JSON.stringify(body.metadata)).to.contain('temperature was omitted')
  })

  it('answers in a stream, for every client format', async () => {
    const chat = gateway.openai().chat.completions.stream({
      model: 'morse-1',
      messages: [{ role: 'user', content: 'Which track?' }],
      stream_options: { include_usage: true },
    })
    expect(await chat.finalContent()).to.equal('TRACK NINE STOP')
    expect(await chat.totalUsage()).to.include({ prompt_tokens: 3, completion_tokens: 4 })

    const response = await gateway.openai().responses.create({ model: 'morse-1', input: 'Which track?' })
    expect(response.output_text).to.equal('TRACK NINE STOP')
  })

  it('is chosen automatically', async () => {
    expect((await ask('Which track?', { model: 'auto:cost' })).body).to.include({ provider: 'post' })
  })

  it('rejects what it does not support', async () => {
    const tool = { type: 'function', function: { name: 'f', parameters: {} } }
    const { status, body } = await ask('Which track?', { model: 'post:any', tools: [tool] })
    expect(status).to.equal(400)
    expect(body.error).to.include({ code: 'unsupported_parameter', param: 'tools' })
  })

  it('has errors mapped by their status, without the key', async () => {
    const limited = await ask('fault 429')
    expect(limited.status).to.equal(429)
    expect(limited.body.error).to.include({ code: 'rate_limit_exceeded', retry_after: 7 })
    const refused = await ask('fault 422')
    expect(refused.status).to.equal(400)
    expect(refused.body.error.message).to.equal('post rejected the request: [redacted] may not say that')
    expect(gateway.stderr()).not.to.contain(KEY)
  })

  it('ends a broken stream with an error record', async () => {
    const stream = await gateway.openai().chat.completions.create({
      model: 'morse-1',
      messages: [{ role: 'user', content: 'fault cut' }],
      stream: true,
    })
    let received = ''
    const failure = await (async () => {
      for await (const { choices } of stream) {
        received += choices[0]?.delta.content ?? ''
        if (received === 'TRACK NINE STOP') client.emit('received')
      }
    })().catch((error: unknown) => error)
    expect(received).to.equal('TRACK NINE STOP')
    expect(failure).to.be.instanceOf(OpenAI.APIError)
    expect(String(failure)).to.contain('The line was cut.')
  })
})

describe('wire formats that cannot be used', () => {
  let telegraph: string

  before(async () => {
    telegraph = await readTelegraph()
  })

  const failureOf = async (
    sources: Readonly<Record<string, string>>,
    format = 'openai',
    environment = {},
    models: readonly object[] = [],
  ) => {
    const pluginFolder = await installAll(sources)
    const CONFIG = await writeSettings(
      dump({
        plugins: { add: Object.keys(sources) },
        providers: { post: { format, base_url: 'http://127.0.0.1:9' } },
        models,
      }),
    )
    const failure: Error = await startGateway({ CONFIG, ...environment }, { pluginFolder }).then(
      () => expect.fail('the gateway started'),
      (error) => error,
    )
    return failure.message
  }

  it('stop the start if a provider names one that no plugin adds, with the known ones', async () => {
    expect(await failureOf({ telegraph }, 'telegrph')).to.equal(
      'providers.post.format is "telegrph", which is not a known format. Use one of openai, anthropic, gemini, ' +
        'mistral, deepseek, vertex, bedrock, telegraph, or list the plugin that adds the format.',
    )
  })

  it('stop the start if the gateway or another plugin has one of the same name', async () => {
    expect(await failureOf({ mine: telegraph.replace("format: 'telegraph'", "format: 'openai'") })).to.equal(
      'plugin "telegraph" from "mine" defines the wire format "openai", which the gateway already defines. ' +
        'Rename it.',
    )
    const second = telegraph.replace("name: 'telegraph'", "name: 'second'")
    expect(await failureOf({ telegraph, second })).to.equal(
      'plugin "second" defines the wire format "telegraph", which plugin "telegraph" already defines. Rename it.',
    )
  })

  it('stop the start without the key if they cannot use it', async () => {
    const failing = telegraph.replace("({ 'x-telegraph-key': apiKey })", '{ throw new Error(apiKey) }')
    expect(await failureOf({ failing }, 'telegraph', { POST_API_KEY: KEY })).to.equal(
      'The format "telegraph" cannot build headers from the API key. Check the key.',
    )
  })

  it('stop the start if a model has quirks that they do not know', async () => {
    const own = 'quirks: StrictObject({ wires: Type.Integer() }), format'
    const source = `import { StrictObject, Type } from 'signalbox'\n${telegraph.replace('format', own)}`
    const failure = await failureOf({ telegraph: source }, 'telegraph', {}, [
      { ...MODEL, id: 'fits', quirks: { wires: 3, forced_tools: false } },
      { ...MODEL, id: 'text', quirks: { wires: 'three' } },
      { ...MODEL, id: 'other', quirks: { top_p: 'plain' } },
    ])
    expect(failure).to.contain('quirks of post/text, whose format is telegraph: wires must be')
    expect(failure).to.contain('quirks of post/other, whose format is telegraph:').and.contain('"top_p"')
    expect(failure).not.to.contain('post/fits')
  })

  it('stop the start if they are incomplete', async () => {
    expect(await failureOf({ telegraph: telegraph.replace('parseReply', 'parseAnswer') })).to.contain(
      'parseReply of the wire format "telegraph" must be a function',
    )
    expect(await failureOf({ telegraph: telegraph.replace("'telegraph',\n", "'Morse code',\n") })).to.contain(
      'providers[0].format must match the pattern',
    )
  })
})
