import { getEventListeners, once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { expect } from 'chai'
import type { ChatRequest, Reply, ReplyEvent } from '../../../../core/contract/chat.ts'
import { GatewayError } from '../../../../core/contract/errors.ts'
import { openai } from '../../../../providers/openai/adapter.ts'
import {
  createProviderClient,
  type ProviderClient,
  type SentRequest,
} from '../../../../providers/shared/client.ts'
import { presenceOf, staying } from '../../../support/presence.ts'

const API_KEY = 'tr4in-n0-known-prefix'
const target = { provider: 'acme', model: 'gpt-4o' }
const whole: ChatRequest = { messages: [{ role: 'user', content: 'Which track?' }] }
const streamed: ChatRequest = { ...whole, stream: true }
const never = new AbortController().signal

describe('sending to a provider', () => {
  let server: Server
  let connection: ProviderClient
  let answer: RequestListener
  let closed: Promise<unknown>

  before(async () => {
    server = createServer((request, response) => {
      closed = once(response, 'close')
      request.resume().on('end', () => answer(request, response))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })

  beforeEach(() => {
    connection = connect()
  })

  afterEach(async () => {
    server.closeAllConnections()
    await connection.close()
  })

  after(() => server.close())

  function connect(
    options: { baseUrl?: string; timeouts?: object; connections?: number } = {},
  ): ProviderClient {
    const { port } = server.address() as AddressInfo
    const timeouts = { connect_ms: 2000, first_byte_ms: 5000, idle_ms: 5000, ...options.timeouts }
    const baseUrl = options.baseUrl ?? `http://127.0.0.1:${port}/v1`
    return createProviderClient({
      ...options,
      id: 'acme',
      adapter: openai,
      apiKey: API_KEY,
      baseUrl,
      timeouts,
    })
  }

  function send(request: ChatRequest, signal: AbortSignal = never): Promise<SentRequest> {
    return connection.send(request, target, presenceOf(signal))
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
    it('posts the call to the base path, with the key', async () => {
      let seen: IncomingMessage | undefined
      answer = (request, response) => {
        seen = request
        response.end(COMPLETION)
      }
      await send(whole)
      expect(seen).to.include({ method: 'POST', url: '/v1/chat/completions' })
      expect(seen?.headers.authorization).to.equal(`Bearer ${API_KEY}`)
    })

    for (const [ending, path] of [
      ['', '/chat/completions'],
      ['/', '/chat/completions'],
      ['/a/v1/', '/a/v1/chat/completions'],
    ]) {
      it(`joins a base URL that ends in "${ending}"`, async () => {
        let url: string | undefined
        answer = (request, response) => {
          url = request.url
          response.end(COMPLETION)
        }
        const { port } = server.address() as AddressInfo
        connection = connect({ baseUrl: `http://127.0.0.1:${port}${ending}` })
        await send(whole)
        expect(url).to.equal(path)
      })
    }

    it('gives its parts and what was left out', async () => {
      answer = (_, response) => response.end(COMPLETION)
      const { reply, omitted } = await send(whole)
      expect(textOf(reply.type === 'whole' ? [reply.event] : [])).to.equal('Track 9.')
      expect(omitted).to.deep.equal([])
    })

    it('may come in pieces, after blank lines that keep the connection alive', async () => {
      answer = (_, response) => {
        response.write('\n\n\n')
        for (const byte of Buffer.from(COMPLETION)) response.write(Buffer.of(byte))
        response.end()
      }
      expect((await send(whole)).reply.type).to.equal('whole')
    })

    it('is refused when it is not JSON', async () => {
      answer = (_, response) => response.end('<html>')
      expect(await failureOf(whole)).to.include({
        code: 'provider_error',
        message: 'acme sent a reply that is not JSON.',
      })
    })

    it('is refused when it is no completion', async () => {
      answer = (_, response) => response.end('{}')
      expect((await failureOf(whole)).code).to.equal('provider_error')
    })

    it('is refused when it does not end', async () => {
      answer = (_, response) => writeForever(response, 'x'.repeat(1_000_000))
      expect(await failureOf(whole)).to.include({
        code: 'provider_error',
        message: 'acme sent a reply that is too large.',
      })
      await closed
    })

    it('fails when it is cut', async () => {
      answer = (_, response) => {
        response.writeHead(200, { 'content-length': COMPLETION.length })
        response.write(COMPLETION.slice(0, 50), () => response.destroy())
      }
      expect((await failureOf(whole)).code).to.equal('provider_unreachable')
    })
  })

  describe('an HTTP error', () => {
    it('is read by the provider', async () => {
      answer = (_, response) => {
        response.writeHead(429, { 'retry-after': '7' })
        response.end('{"error":{"message":"Too fast","code":"rate_limit_exceeded"}}')
      }
      for (const request of [whole, streamed]) {
        const error = await failureOf(request)
        expect(error.code).to.equal('provider_rate_limited')
        expect(error.details.retryAfter).to.equal(7)
      }
    })

    it('does not tell the key that it repeats', async () => {
      answer = (_, response) => {
        response.statusCode = 400
        response.end(JSON.stringify({ error: { message: `No access with ${API_KEY}` } }))
      }
      expect((await failureOf(whole)).message).to.equal('acme refused the request: No access with [redacted]')
    })

    it('leaves its socket to later requests', async () => {
      const sockets = new Set<Socket>()
      answer = (request, response) => {
        sockets.add(request.socket)
        response.statusCode = 400
        response.end(COMPLETION)
      }
      for (let n = 0; n < 6; n++) await failureOf(whole)
      expect(sockets.size).to.be.below(3)
    })

    it('is read no further than needed', async () => {
      answer = (_, response) => {
        response.statusCode = 500
        writeForever(response, 'x'.repeat(10_000))
      }
      expect((await failureOf(whole)).code).to.equal('provider_error')
      await closed
    })
  })

  describe('a stream', () => {
    it('gives the events of all reads', async () => {
      answer = (_, response) => {
        stream(response, chunk('Track '), chunk('9.'), chunk('', 'stop'))
        response.end('data: [DONE]\n\n')
      }
      expect(textOf(await collect(batchesOf(await send(streamed))))).to.equal('Track 9.')
    })

    it('gives what arrives together as one batch, in however many pieces it was written', async () => {
      answer = (_, response) => {
        response.socket?.cork()
        stream(response, chunk('Track '))
        response.write(record(chunk('9.')))
        response.end(`${record(chunk('', 'stop'))}data: [DONE]\n\n`)
        response.socket?.uncork()
      }
      const [first] = await collectBatches(await send(streamed))
      expect(textOf(first ?? [])).to.equal('Track 9.')
    })

    it('gives an event as soon as it arrives', async () => {
      answer = (_, response) => stream(response, chunk('first'))
      const batches = batchesOf(await send(streamed))[Symbol.asyncIterator]()
      expect(textOf((await batches.next()).value ?? [])).to.equal('first')
      await batches.return?.()
    })

    it('waits past comments for its first event', async () => {
      answer = (_, response) => {
        stream(response)
        response.write(': keep-alive\n\n', () => {
          setImmediate(() => response.end(record(chunk('late'), chunk('', 'stop'))))
        })
      }
      expect(textOf(await collect(batchesOf(await send(streamed))))).to.equal('late')
    })

    it('may end without a blank line', async () => {
      answer = (_, response) => {
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
        'an error follows in the same breath',
        `${record(chunk(''))}data: {"error":"Busy"}\n\n`,
        'provider_error',
      ],
      ['it is empty', '', 'provider_error'],
      ['it holds comments only', ': ping\n\n', 'provider_error'],
      ['it is malformed', 'data: {"choices\n\n', 'provider_error'],
    ] as const) {
      it(`is refused before it begins when ${name}`, async () => {
        answer = (_, response) => {
          stream(response)
          response.end(body)
        }
        const error = await send(streamed).catch((thrown) => thrown)
        expect(error).to.be.instanceOf(GatewayError).with.property('code', code)
      })
    }

    it('is refused before it begins, and broken off, when it is JSON instead', async () => {
      answer = (_, response) => {
        response.setHeader('content-type', 'application/json')
        response.write(COMPLETION)
      }
      const error = await send(streamed).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_error')
      await closed
    })

    it('is refused before it begins when the connection is cut', async () => {
      answer = (_, response) => {
        stream(response)
        response.write(': ping\n\n', () => response.destroy())
      }
      const error = await send(streamed).catch((thrown) => thrown)
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_unreachable')
    })

    it('fails after its events when the connection is cut later', async () => {
      answer = (_, response) => stream(response, chunk('Hi'))
      const sent = await send(streamed)
      const { events, error } = await collectUntilError(sent, () => server.closeAllConnections())
      expect(textOf(events)).to.equal('Hi')
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_unreachable')
    })

    it('fails after its events when it ends too early', async () => {
      let response: ServerResponse | undefined
      answer = (_, given) => {
        response = stream(given, chunk('Hi'))
      }
      const sent = await send(streamed)
      const { events, error } = await collectUntilError(sent, () => response?.end(record(chunk('!'))))
      expect(textOf(events)).to.equal('Hi!')
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_error')
    })

    it('gives what arrived together with a later error first', async () => {
      let response: ServerResponse | undefined
      answer = (_, given) => {
        response = stream(given, chunk('Hi'))
      }
      const sent = await send(streamed)
      const ending = `${record(chunk('!'))}data: {"error":{"code":"slow_down"}}\n\n`
      const { events, error } = await collectUntilError(sent, () => response?.end(ending))
      expect(textOf(events)).to.equal('Hi!')
      expect(error).to.be.instanceOf(GatewayError).with.property('code', 'provider_rate_limited')
    })

    it('is pulled at the pace of its consumer', async () => {
      let written = 0
      answer = (_, response) => {
        const text = record(chunk('x'.repeat(100_000)))
        writeForever(stream(response), text, () => {
          written += text.length
        })
      }
      const batches = batchesOf(await send(streamed))[Symbol.asyncIterator]()
      expect((await batches.next()).value).to.have.length.below(10)
      await delay(150)
      const buffered = written
      await delay(50)
      expect(written).to.equal(buffered)
      await batches.return?.()
    })
  })

  describe('when the client leaves', () => {
    it('breaks off a request that has no answer yet, with the reason as it is', async () => {
      const client = new AbortController()
      const reason = new Error('client left')
      answer = () => client.abort(reason)
      for (const request of [whole, streamed]) {
        expect(await send(request, client.signal).catch((thrown) => thrown)).to.equal(reason)
      }
      await closed
    })

    it('sends nothing when it left before', async () => {
      answer = () => expect.fail('it was sent')
      const reason = new Error('client left')
      expect(await send(whole, AbortSignal.abort(reason)).catch((thrown) => thrown)).to.equal(reason)
    })

    it('breaks off a stream between two reads, with the reason as it is', async () => {
      const client = new AbortController()
      answer = (_, response) => stream(response, chunk('Hi'))
      const sent = await send(streamed, client.signal)
      const { error } = await collectUntilError(sent, () => client.abort('left'))
      expect(error).to.equal('left')
      await closed
    })

    it('breaks off a stream that nobody reads', async () => {
      const client = new AbortController()
      answer = (_, response) => stream(response, chunk('Hi'))
      await send(streamed, client.signal)
      client.abort()
      await closed
    })

    it('breaks off the stream when its reader stops before the first event', async () => {
      answer = (_, response) => stream(response, chunk('Hi'))
      await batchesOf(await send(streamed))
        [Symbol.asyncIterator]()
        .return?.()
      await closed
    })

    it('breaks off the stream when its reader stops half-way', async () => {
      answer = (_, response) => stream(response, chunk('Hi'))
      for await (const _ of batchesOf(await send(streamed))) break
      await closed
    })

    it('does not wait for a socket', async () => {
      connection = connect({ connections: 1 })
      const client = new AbortController()
      let calls = 0
      answer = (_, response) => {
        if (++calls === 1) stream(response, chunk('Hi'))
      }
      const busy = batchesOf(await send(streamed))[Symbol.asyncIterator]()
      const queued = send(whole, client.signal).catch((thrown) => thrown)
      client.abort('left')
      expect(await queued).to.equal('left')
      await busy.return?.()
      expect(calls).to.equal(1)
    })

    it('leaves no listener behind', async () => {
      const { signal } = new AbortController()
      answer = (request, response) => {
        if (request.headers.accept === 'application/json') response.end(COMPLETION)
        else stream(response, chunk('Hi', 'stop')).end()
      }
      await send(whole, signal)
      await collect(batchesOf(await send(streamed, signal)))
      expect(getEventListeners(signal, 'abort')).to.deep.equal([])
    })
  })

  describe('a slow provider', () => {
    const late = { code: 'provider_timeout', message: 'acme did not answer in time.' }

    it('has so long to begin a whole reply', async () => {
      connection = connect({ timeouts: { first_byte_ms: 100 } })
      answer = () => {}
      expect(await failureOf(whole)).to.include(late)
      await closed
    })

    it('has so long to give the first event, whatever comments it sends', async () => {
      connection = connect({ timeouts: { first_byte_ms: 100, idle_ms: 50 } })
      answer = (_, response) => sendEvery(20, stream(response), ': ping\n\n')
      const error = await send(streamed).catch((thrown) => thrown)
      expect(error).to.include(late)
      await closed
    })

    it('has longer for the first event of a request that may queue, as long as comments say so', async () => {
      connection = connect({ timeouts: { first_byte_ms: 100, idle_ms: 100 } })
      answer = (_, given) => {
        const response = stream(given)
        const timer = sendEvery(20, response, ': keep-alive\n\n')
        setTimeout(() => {
          clearInterval(timer)
          response.end(record(chunk('late', 'stop')))
        }, 300)
      }
      const sent = await connection.send(streamed, target, staying, true)
      expect(textOf(await collect(batchesOf(sent)))).to.equal('late')
    })

    it('has no longer when a request that may queue hears nothing', async () => {
      connection = connect({ timeouts: { first_byte_ms: 50 } })
      answer = (_, response) => stream(response)
      expect(await connection.send(streamed, target, staying, true).catch((thrown) => thrown)).to.include(
        late,
      )
    })

    it('has so long between two events', async () => {
      connection = connect({ timeouts: { idle_ms: 100 } })
      answer = (_, response) => stream(response, chunk('Hi'))
      const { events, error } = await collectUntilError(await send(streamed))
      expect(textOf(events)).to.equal('Hi')
      expect(error).to.include(late)
      await closed
    })

    it('has so long between two pieces of a whole reply', async () => {
      connection = connect({ timeouts: { idle_ms: 100 } })
      answer = (_, response) => response.write('{"id":')
      expect(await failureOf(whole)).to.include(late)
      await closed
    })

    it('may take longer as long as comments show that it lives', async () => {
      connection = connect({ timeouts: { idle_ms: 100 } })
      answer = (_, response) => {
        const timer = sendEvery(20, stream(response, chunk('Hi')), ': ping\n\n')
        setTimeout(() => {
          clearInterval(timer)
          response.end(record(chunk('!', 'stop')))
        }, 300)
      }
      expect(textOf(await collect(batchesOf(await send(streamed))))).to.equal('Hi!')
    })

    for (const [name, end] of [
      ['hangs', () => {}],
      ['resets the connection', (response: ServerResponse) => response.socket?.resetAndDestroy()],
    ] as const) {
      it(`is not blamed when it ${name} after [DONE]`, async () => {
        let response: ServerResponse | undefined
        answer = (_, given) => {
          response = stream(given, chunk('Hi', 'stop'))
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

    it('is not blamed for a slow reader', async () => {
      connection = connect({ timeouts: { first_byte_ms: 50, idle_ms: 50 } })
      let response: ServerResponse | undefined
      answer = (_, given) => {
        response = stream(given, chunk('Hi'))
      }
      const events: ReplyEvent[] = []
      for await (const batch of batchesOf(await send(streamed))) {
        events.push(...batch)
        await delay(120)
        response?.end(record(chunk('!', 'stop')))
      }
      expect(textOf(events)).to.equal('Hi!')
    })
  })

  describe('a provider that cannot be reached', () => {
    it('is told apart by its code', async () => {
      const other = createServer()
      await once(other.listen(0, '127.0.0.1'), 'listening')
      const { port } = other.address() as AddressInfo
      await new Promise((resolve) => other.close(resolve))
      for (const host of [`127.0.0.1:${port}`, 'no-such-host.invalid']) {
        connection = connect({ baseUrl: `http://${host}/v1` })
        const error = await failureOf(whole)
        expect(error).to.include({ code: 'provider_unreachable', message: 'The connection to acme failed.' })
        expect(error.cause).to.be.instanceOf(Error)
      }
    })

    it('is told apart when it hangs up', async () => {
      answer = (_, response) => response.destroy()
      expect((await failureOf(whole)).code).to.equal('provider_unreachable')
    })
  })

  it('tells the key in no error, whatever happens', async () => {
    const echo = { error: { message: `key ${API_KEY}`, code: API_KEY, param: API_KEY } }
    const answers: RequestListener[] = [
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
    for (const each of answers) {
      answer = each
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
