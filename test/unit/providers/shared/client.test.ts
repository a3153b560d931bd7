import { getEventListeners, once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { inspect } from 'node:util'
import { expect } from 'chai'
import type { ChatRequest, Reply, ReplyEvent } from '../../../../core/contract/chat.ts'
import { GatewayError } from '../../../../core/contract/errors.ts'
import { nextImmediate } from '../../../../core/util/next-immediate.ts'
import { gemini } from '../../../../providers/gemini/adapter.ts'
import { openai } from '../../../../providers/openai/adapter.ts'
import {
  createProviderClient,
  type ProviderClient,
  type ProviderClientOptions,
  type SentRequest,
} from '../../../../providers/shared/client.ts'
import { presenceOf } from '../../../support/presence.ts'
import { type StoppedTimers, stopTimers } from '../../../support/timers.ts'

const API_KEY = 'tr4in-n0-known-prefix'
const target = { provider: 'acme', model: 'gpt-4o' }
const whole: ChatRequest = { messages: [{ role: 'user', content: 'Which track?' }] }
const streamed: ChatRequest = { ...whole, stream: true }
const never = new AbortController().signal

describe('the provider client', () => {
  let server: Server
  let provider: ProviderClient
  let respond: RequestListener
  let closed: Promise<unknown>

  before(async () => {
    server = createServer((request, response) => {
      closed = once(response, 'close')
      request.resume().on('end', () => respond(request, response))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })

  beforeEach(() => {
    provider = connect()
  })

  afterEach(async () => {
    server.closeAllConnections()
    await provider.close()
  })

  after(() => server.close())

  function connect(
    options: Partial<Omit<ProviderClientOptions, 'timeouts'>> & { timeouts?: object } = {},
  ): ProviderClient {
    const { port } = server.address() as AddressInfo
    const timeouts = { connect_ms: 60_000, first_byte_ms: 60_000, idle_ms: 60_000, ...options.timeouts }
    const baseUrl = options.baseUrl ?? `http://127.0.0.1:${port}/v1`
    return createProviderClient({
      id: 'acme',
      adapter: openai,
      apiKey: API_KEY,
      ...options,
      baseUrl,
      timeouts,
    })
  }

  function send(request: ChatRequest, signal: AbortSignal = never): Promise<SentRequest> {
    return provider.send(request, target, presenceOf(signal))
  }

  async function failureOf(request: ChatRequest): Promise<GatewayError> {
    const error = await send(request)
      .then(batchesOf)
      .then(collect)
      .catch((thrown) => thrown)
    expect(error).to.be.instanceOf(GatewayError)
    return error
  }

  describe('a whole reply', () => {
    it('posts the request to the base path, with the key', async () => {
      let seen: IncomingMessage | undefined
      respond = (request, response) => {
        seen = request
        response.end(COMPLETION)
      }
      await send(whole)
      expect(seen).to.include({ method: 'POST', url: '/v1/chat/completions' })
      expect(seen?.headers.authorization).to.equal(`Bearer ${API_KEY}`)
    })

    it('adds the query of the settings to that of the format', async () => {
      let url: string | undefined
      respond = (request, response) => {
        url = request.url
        response.writeHead(500).end()
      }
      provider = connect({ adapter: gemini, query: { region: 'eu 1', b: '2' } })
      await failureOf(streamed)
      expect(url).to.match(/:streamGenerateContent\?alt=sse&region=eu\+1&b=2$/)
    })

    for (const [ending, path] of [
      ['', '/chat/completions'],
      ['/', '/chat/completions'],
      ['/a/v1/', '/a/v1/chat/completions'],
    ]) {
      it(`accepts a base URL that ends in "${ending}"`, async () => {
        let url: string | undefined
        respond = (request, response) => {
          url = request.url
          response.end(COMPLETION)
        }
        const { port } = server.address() as AddressInfo
        provider = connect({ baseUrl: `http://127.0.0.1:${port}${ending}` })
        await send(whole)
        expect(url).to.equal(path)
      })
    }

    it('is returned with its parts and the omitted fields', async () => {
      respond = (_, response) => response.end(COMPLETION)
      const { reply, omitted } = await send(whole)
      expect(textOf(reply.type === 'whole' ? [reply.event] : [])).to.equal('Track 9.')
      expect(omitted).to.deep.equal([])
    })

    it('may arrive in chunks, after blank keep-alive lines', async () => {
      respond = (_, response) => {
        response.write('\n\n\n')
        for (const byte of Buffer.from(COMPLETION)) response.write(Buffer.of(byte))
        response.end()
      }
      expect((await send(whole)).reply.type).to.equal('whole')
    })

    it('is rejected if it is not JSON', async () => {
      respond = (_, response) => response.end('<html>')
      expect(await failureOf(whole)).to.include({
        code: 'provider_error',
        message: 'acme sent a reply that is not valid JSON.',
      })
    })

    it('is rejected if it is not a completion', async () => {
      respond = (_, response) => response.end('{}')
      expect((await failureOf(whole)).code).to.equal('provider_error')
    })

    it('is rejected if it does not end', async () => {
      respond = (_, response) => writeForever(response, 'x'.repeat(1_000_000))
      expect(await failureOf(whole)).to.include({
        code: 'provider_error',
        message: 'acme sent a reply larger than 64 MiB.',
      })
      await closed
    })

    it('is rejected if it is cut off', async () => {
      respond = (_, response) => {
        response.writeHead(200, { 'content-length': COMPLETION.length })
        response.write(COMPLETION.slice(0, 50), () => response.destroy())
      }
      expect((await failureOf(whole)).code).to.equal('provider_unreachable')
    })
  })

  describe('an error response', () => {
    it('is parsed by the adapter', async () => {
      respond = (_, response) => {
        response.writeHead(429, { 'retry-after': '7' })
        response.end('{"error":{"message":"Too fast","code":"rate_limit_exceeded"}}')
      }
      for (const request of [whole, streamed]) {
        const error = await failureOf(request)
        expect(error.code).to.equal('provider_rate_limited')
        expect(error.details.retryAfter).to.equal(7)
      }
    })

    it('has the API key redacted', async () => {
      respond = (_, response) => {
        response.statusCode = 400
        response.end(JSON.stringify({ error: { message: `No access with ${API_KEY}` } }))
      }
      expect((await failureOf(whole)).message).to.equal(
        'acme rejected the request: No access with [redacted]',
      )
    })

    it('keeps its connection open for later requests', async () => {
      const sockets = new Set<Socket>()
      respond = (request, response) => {
        sockets.add(request.socket)
        response.statusCode = 400
        response.end(COMPLETION)
      }
      for (let n = 0; n < 6; n++) await failureOf(whole)
      expect(sockets.size).to.be.below(3)
    })

    it('is not read beyond the limit', async () => {
      respond = (_, response) => {
        response.statusCode = 500
        writeForever(response, 'x'.repeat(10_000))
      }
      expect((await failureOf(whole)).code).to.equal('provider_error')
      await closed
    })
  })

  describe('a stream', () => {
    it('returns the events of all reads', async () => {
      respond = (_, response) => {
        stream(response, chunk('Track '), chunk('9.'), chunk('', 'stop'))
        response.end('data: [DONE]\n\n')
      }
      expect(textOf(await collect(batchesOf(await send(streamed))))).to.equal('Track 9.')
    })

    it('returns events that arrive together as one batch, regardless of the chunks', async () => {
      respond = (_, response) => {
        response.socket?.cork()
        stream(response, chunk('Track '))
        response.write(record(chunk('9.')))
        response.end(`${record(chunk('', 'stop'))}data: [DONE]\n\n`)
        response.socket?.uncork()
      }
      const [first] = await collectBatches(await send(streamed))
      expect(textOf(first ?? [])).to.equal('Track 9.')
    })

    it('returns an event as soon as it arrives', async () => {
      respond = (_, response) => stream(response, chunk('first'))
      const batches = batchesOf(await send(streamed))[Symbol.asyncIterator]()
      expect(textOf((await batches.next()).value ?? [])).to.equal('first')
      await batches.return?.()
    })

    it('waits for its first event despite comments', async () => {
      respond = (_, response) => {
        stream(response)
        response.write(': keep-alive\n\n', () => {
          setImmediate(() => response.end(record(chunk('late'), chunk('', 'stop'))))
        })
      }
      expect(textOf(await collect(batchesOf(await send(streamed))))).to.equal('late')
    })

    it('may end without a blank line', async () => {
      respond = (_, response) => {
        stream(response, chunk('Hi'))
        response.end(record(chunk('!', 'stop')).trimEnd())
      }
      expect(textOf(await collect(batchesOf(await send(streamed))))).to.equal('Hi!')
    })

    for (const [name, body, code] of [
      [
        'an error comes first',
        'data: {"error":{"message":"Busy","code":"slow_down"}}\n\n',
        'provider_rate_limited',
      ],
      [
        'an error follows in the same read',
        `${record(chunk(''))}data: {"error":"Busy"}\n\n`,
        'provider_error',
      ],
      ['it is empty', '', 'provider_error'],
      ['it holds comments only', ': ping\n\n', 'provider_error'],
      ['it is malformed', 'data: {"choices\n\n', 'provider_error'],
    ] as const) {
      it(`is rejected before it starts if ${name}`, async () => {
        respond = (_, response) => {
          stream(response)
          response.end(body)
        }
        const error = await send(streamed).catch((thrown) => thrown)
        expect(error).to.be.instanceOf(GatewayError).with.property('code', code)
      })
    }

    it('is rejected and aborted before it starts if it is a web page', async () => {
      respond = (_, response) => {
        response.setHeader('content-type', 'text/html')
        response.write('<html>')
      }
      const error = await send(streamed).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_error')
      await closed
    })

    it('is rejected before it starts if the connection is closed', async () => {
      respond = (_, response) => {
        stream(response)
        response.write(': ping\n\n', () => response.destroy())
      }
      const error = await send(streamed).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_unreachable')
    })

    it('throws after its events if the connection is closed later', async () => {
      respond = (_, response) => stream(response, chunk('Hi'))
      const sent = await send(streamed)
      const { events, error } = await collectUntilError(sent, () => server.closeAllConnections())
      expect(textOf(events)).to.equal('Hi')
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_unreachable')
    })

    it('throws after its events if it ends too early', async () => {
      let response: ServerResponse | undefined
      respond = (_, serverResponse) => {
        response = stream(serverResponse, chunk('Hi'))
      }
      const sent = await send(streamed)
      const { events, error } = await collectUntilError(sent, () => response?.end(record(chunk('!'))))
      expect(textOf(events)).to.equal('Hi!')
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_error')
    })

    it('returns events that arrived together with a later error first', async () => {
      let response: ServerResponse | undefined
      respond = (_, serverResponse) => {
        response = stream(serverResponse, chunk('Hi'))
      }
      const sent = await send(streamed)
      const ending = `${record(chunk('!'))}data: {"error":{"code":"slow_down"}}\n\n`
      const { events, error } = await collectUntilError(sent, () => response?.end(ending))
      expect(textOf(events)).to.equal('Hi!')
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_rate_limited')
    })

    it('is read at the pace of its consumer', async () => {
      let writtenChars = 0
      respond = (_, response) => {
        const text = record(chunk('x'.repeat(100_000)))
        writeForever(stream(response), text, () => {
          writtenChars += text.length
        })
      }
      const batches = batchesOf(await send(streamed))[Symbol.asyncIterator]()
      expect((await batches.next()).value).to.have.length.below(10)
      // As much as the buffers on the way hold. Provider and client share this event loop.
      for (let [turns, before] = [0, 0]; turns < 50; turns++) {
        await nextImmediate()
        if (writtenChars > before) turns = 0
        before = writtenChars
        expect(writtenChars).to.be.below(100_000_000)
      }
      await batches.return?.()
    })
  })

  describe('when the client disconnects', () => {
    it('aborts a request without a response, and rejects with the unchanged reason', async () => {
      const client = new AbortController()
      const reason = new Error('client disconnected')
      respond = () => client.abort(reason)
      for (const request of [whole, streamed]) {
        expect(await send(request, client.signal).catch((thrown) => thrown)).to.equal(reason)
      }
      await closed
    })

    it('sends nothing if it was disconnected before', async () => {
      respond = () => expect.fail('it was sent')
      const reason = new Error('client disconnected')
      expect(await send(whole, AbortSignal.abort(reason)).catch((thrown) => thrown)).to.equal(reason)
    })

    it('aborts a stream between two reads, and throws the unchanged reason', async () => {
      const client = new AbortController()
      respond = (_, response) => stream(response, chunk('Hi'))
      const sent = await send(streamed, client.signal)
      const { error } = await collectUntilError(sent, () => client.abort('disconnected'))
      expect(error).to.equal('disconnected')
      await closed
    })

    it('aborts a stream that is not being read', async () => {
      const client = new AbortController()
      respond = (_, response) => stream(response, chunk('Hi'))
      await send(streamed, client.signal)
      client.abort()
      await closed
    })

    it('aborts the stream if its reader stops before the first event', async () => {
      respond = (_, response) => stream(response, chunk('Hi'))
      await batchesOf(await send(streamed))
        [Symbol.asyncIterator]()
        .return?.()
      await closed
    })

    it('aborts the stream if its reader stops half-way', async () => {
      respond = (_, response) => stream(response, chunk('Hi'))
      for await (const _ of batchesOf(await send(streamed))) break
      await closed
    })

    it('does not wait for a connection', async () => {
      provider = connect({ connections: 1 })
      const client = new AbortController()
      let calls = 0
      respond = (_, response) => {
        if (++calls === 1) stream(response, chunk('Hi'))
      }
      const busy = batchesOf(await send(streamed))[Symbol.asyncIterator]()
      const queued = send(whole, client.signal).catch((thrown) => thrown)
      client.abort('disconnected')
      expect(await queued).to.equal('disconnected')
      await busy.return?.()
      expect(calls).to.equal(1)
    })

    it('leaves no listener behind', async () => {
      const { signal } = new AbortController()
      respond = (request, response) => {
        if (request.headers.accept === 'application/json') response.end(COMPLETION)
        else stream(response, chunk('Hi', 'stop')).end()
      }
      await send(whole, signal)
      await collect(batchesOf(await send(streamed, signal)))
      expect(getEventListeners(signal, 'abort')).to.deep.equal([])
    })
  })

  describe('a slow provider', () => {
    const late = { code: 'provider_timeout', message: 'acme did not respond in time.' }
    /** Lengths that no other timer has. */
    const [FIRST_BYTE_MS, IDLE_MS] = [70_001, 70_002]
    const stoppable = { first_byte_ms: FIRST_BYTE_MS, idle_ms: IDLE_MS }
    let timers: StoppedTimers | undefined
    afterEach(() => {
      timers?.restore()
      timers = undefined
    })

    /** Sends comments for longer than the provider may be idle, each before that time is over. */
    async function sendComments(timers: StoppedTimers, response: ServerResponse): Promise<void> {
      for (let passedMs = 0; passedMs <= 3 * IDLE_MS; passedMs += IDLE_MS - 1) {
        const extended = timers.started(IDLE_MS)
        response.write(': keep-alive\n\n')
        await extended
        timers.pass(IDLE_MS - 1)
      }
    }

    it('times out before a whole reply starts', async () => {
      provider = connect({ timeouts: { first_byte_ms: 100 } })
      respond = () => {}
      const error = await failureOf(whole)
      expect(error).to.include(late)
      expect(error.details.executed).to.equal('maybe')
      await closed
    })

    it('times out before the first event, even if it sends comments', async () => {
      provider = connect({ timeouts: { first_byte_ms: 100, idle_ms: 50 } })
      respond = (_, response) => sendEvery(20, stream(response), ': ping\n\n')
      const error = await send(streamed).catch((thrown) => thrown)
      expect(error).to.include(late)
      await closed
    })

    it('times out between two events', async () => {
      provider = connect({ timeouts: { idle_ms: 100 } })
      respond = (_, response) => stream(response, chunk('Hi'))
      const { events, error } = await collectUntilError(await send(streamed))
      expect(textOf(events)).to.equal('Hi')
      expect(error).to.include(late)
      await closed
    })

    it('times out between two chunks of a whole reply', async () => {
      provider = connect({ timeouts: { idle_ms: 100 } })
      respond = (_, response) => response.write('{"id":')
      expect(await failureOf(whole)).to.include(late)
      await closed
    })

    it('does not time out between events while it sends comments', async () => {
      const stopped = stopTimers(FIRST_BYTE_MS, IDLE_MS)
      timers = stopped
      provider = connect({ timeouts: stoppable })
      respond = async (_, serverResponse) => {
        const response = stream(serverResponse, chunk('Hi'))
        await sendComments(stopped, response)
        response.end(record(chunk('!', 'stop')))
      }
      expect(textOf(await collect(batchesOf(await send(streamed))))).to.equal('Hi!')
    })

    for (const [name, end] of [
      ['hangs', () => {}],
      ['resets the connection', (response: ServerResponse) => response.socket?.resetAndDestroy()],
    ] as const) {
      it(`causes no error if it ${name} after [DONE]`, async () => {
        let response: ServerResponse | undefined
        respond = (_, serverResponse) => {
          response = stream(serverResponse, chunk('Hi', 'stop'))
          response.write('data: [DONE]\n\n')
        }
        const events: ReplyEvent[] = []
        for await (const batch of batchesOf(await send(streamed))) {
          events.push(...batch)
          if (response) end(response)
        }
        expect(textOf(events)).to.equal('Hi')
      })
    }

    it('does not time out because of a slow reader', async () => {
      timers = stopTimers(FIRST_BYTE_MS, IDLE_MS)
      provider = connect({ timeouts: stoppable })
      let response: ServerResponse | undefined
      respond = (_, serverResponse) => {
        response = stream(serverResponse, chunk('Hi'))
      }
      const events: ReplyEvent[] = []
      for await (const batch of batchesOf(await send(streamed))) {
        events.push(...batch)
        timers.pass(10 * IDLE_MS)
        response?.end(record(chunk('!', 'stop')))
      }
      expect(textOf(events)).to.equal('Hi!')
    })
  })

  describe('an unreachable provider', () => {
    it('is reported as provider_unreachable', async () => {
      const other = createServer()
      await once(other.listen(0, '127.0.0.1'), 'listening')
      const { port } = other.address() as AddressInfo
      await new Promise((resolve) => other.close(resolve))
      for (const host of [`127.0.0.1:${port}`, 'no-such-host.invalid']) {
        provider = connect({ baseUrl: `http://${host}/v1` })
        const error = await failureOf(whole)
        expect(error).to.include({ code: 'provider_unreachable', message: 'The connection to acme failed.' })
        expect(error.cause).to.be.instanceOf(Error)
      }
    })

    it('is reported as provider_unreachable if it closes the connection', async () => {
      respond = (_, response) => response.destroy()
      expect((await failureOf(whole)).code).to.equal('provider_unreachable')
    })

    it('has not executed a request that was not sent', async () => {
      const other = createServer()
      await once(other.listen(0, '127.0.0.1'), 'listening')
      const { port } = other.address() as AddressInfo
      await new Promise((resolve) => other.close(resolve))
      provider = connect({ baseUrl: `http://127.0.0.1:${port}/v1` })
      expect((await failureOf(whole)).details.executed).to.equal(undefined)
    })

    const ENDINGS: Readonly<Record<string, (response: ServerResponse) => unknown>> = {
      'closes a new connection': (response) => response.destroy(),
      'resets a new connection': (response) => response.socket?.resetAndDestroy(),
      'ends after the head': (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(': wait\n\n', () => response.destroy())
      },
    }
    for (const [name, end] of Object.entries(ENDINGS)) {
      for (const request of [whole, streamed]) {
        it(`may have executed a request if it ${name} (${request === whole ? 'whole' : 'stream'})`, async () => {
          respond = (_, response) => end(response)
          const { code, details } = await failureOf(request)
          expect([code, details.executed]).to.deep.equal(['provider_unreachable', 'maybe'])
        })
      }
    }

    for (const [name, close] of [
      ['closed', (socket: Socket | null) => socket?.destroySoon()],
      ['reset', (socket: Socket | null) => socket?.resetAndDestroy()],
    ] as const) {
      it(`has not executed a request if it has ${name} the connection, idle since the last reply`, async () => {
        respond = (_, response) => response.end(COMPLETION)
        await send(whole)
        // The connection is free in the next turn of the event loop.
        await nextImmediate()
        respond = (_, response) => close(response.socket)
        const { code, details } = await failureOf(whole)
        expect([code, details.executed]).to.deep.equal(['provider_unreachable', undefined])
      })
    }
  })

  it('never reveals the API key in an error', async () => {
    const echo = { error: { message: `key ${API_KEY}`, code: API_KEY, param: API_KEY } }
    const responders: RequestListener[] = [
      ...[400, 401, 404, 429, 500].map(
        (status): RequestListener =>
          (_, response) => {
            response.statusCode = status
            response.end(JSON.stringify(echo))
          },
      ),
      (_, response) => response.destroy(),
      (_, response) => response.end('{'),
      (_, response) => void stream(response).end(),
    ]
    for (const each of responders) {
      respond = each
      for (const request of [whole, streamed]) {
        expect(inspect(await failureOf(request), { depth: 9 })).not.to.contain(API_KEY)
      }
    }
  })
})

function chunk(content: string, finish_reason: string | null = null): object {
  return { id: 'chatcmpl-1', model: 'gpt-4o', choices: [{ index: 0, delta: { content }, finish_reason }] }
}

const COMPLETION = JSON.stringify({
  id: 'chatcmpl-1',
  model: 'gpt-4o',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Track 9.' }, finish_reason: 'stop' }],
})

function record(...chunks: object[]): string {
  return chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')
}

function stream(response: ServerResponse, ...chunks: object[]): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).flushHeaders()
  if (chunks.length > 0) response.write(record(...chunks))
  return response
}

/** Writes as fast as the reader takes it. */
function writeForever(response: ServerResponse, text: string, onWrite = () => {}): void {
  response.write(text, (error) => {
    onWrite()
    if (!error) writeForever(response, text, onWrite)
  })
}

function sendEvery(ms: number, response: ServerResponse, text: string): NodeJS.Timeout {
  const timer = setInterval(() => response.write(text), ms)
  response.on('close', () => clearInterval(timer))
  return timer
}

function batchesOf({ reply }: { reply: Reply }): AsyncIterable<readonly ReplyEvent[]> {
  if (reply.type !== 'stream') throw new Error('a stream was expected')
  return reply.batches
}

async function collect(batches: AsyncIterable<readonly ReplyEvent[]>): Promise<ReplyEvent[]> {
  const events: ReplyEvent[] = []
  for await (const batch of batches) events.push(...batch)
  return events
}

/** Reads the first batch, lets something happen, and reads on to the error. */
async function collectBatches(sent: SentRequest): Promise<(readonly ReplyEvent[])[]> {
  const batches: (readonly ReplyEvent[])[] = []
  for await (const batch of batchesOf(sent)) batches.push(batch)
  return batches
}

async function collectUntilError(sent: SentRequest, afterFirst = () => {}) {
  const events: ReplyEvent[] = []
  let first = true
  try {
    for await (const batch of batchesOf(sent)) {
      events.push(...batch)
      if (first) afterFirst()
      first = false
    }
  } catch (error) {
    return { events, error }
  }
  throw new Error('the stream ended well')
}

function textOf(events: readonly ReplyEvent[]): string {
  return events
    .flatMap((event) => event.parts)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('')
}
