import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { type RawProvider, type RawRequest, rawResponse, startRawProvider } from '../support/raw-provider.ts'
import { pairs } from '../support/rounds.ts'
import { chunk, completion } from '../support/scripted-provider.ts'
import { post, receivedText } from '../support/streams.ts'

const INTERIM: Readonly<Record<string, string>> = {
  '100 Continue': 'HTTP/1.1 100 Continue\r\n\r\n',
  '102 Processing': 'HTTP/1.1 102 Processing\r\n\r\n',
  '103 Early Hints with headers': 'HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\nx-a: 1\r\n\r\n',
  '100 without a reason': 'HTTP/1.1 100 \r\n\r\n',
  '100 of HTTP/1.0': 'HTTP/1.0 100 Continue\r\n\r\n',
  'a 103, two 100 and a 199': [103, 100, 100, 199].map((status) => `HTTP/1.1 ${status} A\r\n\r\n`).join(''),
}

const SURPLUS: Readonly<Record<string, (request: RawRequest) => Buffer | string>> = {
  'a second response': (request) => echo(request),
  'the beginning of a response': () => 'HTTP/1.1 2',
  'an empty line': () => '\r\n',
  'other bytes': () => '{}',
  'an informational response': () => INTERIM['100 Continue']!,
}

/** The cases for whole replies or for streams: in the quick form, each is in one of the two. */
function casesOf<Case>(stream: boolean, table: Readonly<Record<string, Case>>) {
  const all = pairs([false, true], Object.entries(table))
  return all.flatMap(([isStream, entry]) => (isStream === stream ? [entry] : []))
}

describe('connections to a provider', () => {
  let provider: RawProvider
  let gateway: RunningGateway
  beforeEach(async () => {
    provider = await startRawProvider()
    // Each test has connections of its own: after a violation they are used differently.
    gateway = await startGateway({ OPENAI_API_KEY: 'key-of-openai', OPENAI_BASE_URL: provider.url })
  })
  afterEach(async () => {
    await gateway.stop()
    provider.close()
  })

  const bodyFor = (content: string, stream: boolean) => ({
    ...{ model: 'openai:gpt-4o', stream },
    messages: [{ role: 'user', content }],
  })

  /** Returns the reply's text, or the message of an error. */
  async function ask(text: string, stream: boolean): Promise<string> {
    const response = await post(gateway, '/v1/chat/completions', bodyFor(text, stream))
    const received = await receivedText(response)
    if (response.status !== 200) return `${response.status}: ${JSON.parse(received).error.message}`
    if (!stream) return JSON.parse(received).choices[0].message.content
    return readRecords(received)
      .map(({ choices, error }) => choices?.[0]?.delta?.content ?? error?.message ?? '')
      .join('')
  }

  for (const stream of [false, true]) {
    const kind = stream ? 'stream' : 'whole'

    describe(`with ${kind} replies`, () => {
      for (const [name, interim] of casesOf(stream, INTERIM)) {
        it(`skip ${name}`, async () => {
          provider.respond((request) =>
            request.socket.write(Buffer.concat([Buffer.from(interim), echo(request)])),
          )
          for (const text of ['one', 'two', 'three']) expect(await ask(text, stream)).to.equal(`echo ${text}`)
          expect(provider.sockets).to.have.lengthOf(1)
        })

        it(`skip ${name} that arrives byte by byte before the response`, async () => {
          provider.respond(async (request) => {
            for (const byte of interim) {
              request.socket.write(byte)
              for (let turn = 0; turn < 3; turn++) await nextTurn()
            }
            request.socket.write(echo(request))
          })
          for (const text of ['one', 'two']) expect(await ask(text, stream)).to.equal(`echo ${text}`)
        })
      }

      it('do not read informational responses without end', async () => {
        provider.respond(async ({ socket }) => {
          while (!socket.destroyed) {
            socket.write(INTERIM['100 Continue']!.repeat(100))
            await nextTurn()
          }
        })
        expect(await ask('one', stream)).to.match(/^502: The connection to openai failed/)
      })

      it('are not used to send a request again that was answered with 100 Continue only', async () => {
        let received = 0
        provider.respond((request) => {
          received += 1
          if (request.index === 0) request.socket.write(echo(request))
          else request.socket.end(INTERIM['100 Continue']!)
        })
        expect(await ask('one', stream)).to.equal('echo one')
        expect(await ask('two', stream)).to.match(/^502/)
        expect(received).to.equal(2)
      })

      it('are closed after two responses in one packet', async () => {
        provider.respond((request) => request.socket.write(Buffer.concat([echo(request), echo(request)])))
        for (const text of ['one', 'two', 'three']) {
          expect(await ask(text, stream)).to.equal(`echo ${text}`)
        }
        expect(provider.sockets).to.have.lengthOf(3)
      })

      for (const [name, surplus] of casesOf(stream, SURPLUS)) {
        it(`are closed when an idle one brings ${name}, then carry one request each`, async () => {
          const sendings: string[] = []
          provider.respond((request) => {
            sendings.push(/^connection: (.*)$/im.exec(request.head)?.[1] ?? '')
            request.socket.write(echo(request))
            if (sendings.length > 1) return
            // A whole reply is answered only after the response has ended.
            afterAnswer = () => void request.socket.write(surplus(request))
          })
          let afterAnswer = () => {}
          expect(await ask('one', stream)).to.equal('echo one')
          const closed = once(provider.sockets[0]!, 'close')
          afterAnswer()
          await closed
          for (const text of ['two', 'three']) expect(await ask(text, stream)).to.equal(`echo ${text}`)
          expect(sendings).to.deep.equal(['keep-alive', 'close', 'close'])
        })
      }

      it('are used again after 408 has announced that an idle one closes', async () => {
        provider.respond((request) => request.socket.write(echo(request)))
        expect(await ask('one', stream)).to.equal('echo one')
        const [first] = provider.sockets as [Socket]
        const closed = once(first, 'close')
        first.end('HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
        await closed
        for (const text of ['two', 'three']) expect(await ask(text, stream)).to.equal(`echo ${text}`)
        expect(provider.sockets).to.have.lengthOf(2)
      })

      it('do not give the response to an earlier request to the next one', async () => {
        const received: string[] = []
        let earlier: Buffer = Buffer.alloc(0)
        provider.respond((request) => {
          received.push(request.body.messages.at(-1).content)
          const answer = echo(request)
          request.socket.write(request.index === 0 ? answer : Buffer.concat([earlier, answer]))
          earlier = answer
        })
        for (const text of ['one', 'two', 'three']) expect(await ask(text, stream)).to.equal(`echo ${text}`)
        // Which response is that of the second request is not known, so it is sent again, as after other
        // replies that cannot be read.
        expect(received).to.deep.equal(['one', 'two', 'two', 'three'])
        expect(provider.sockets).to.have.lengthOf(3)
      })

      it('do not shift more than one response, however late a second one arrives', async () => {
        let earlier: Buffer | undefined
        let late: (() => void) | undefined
        provider.respond((request) => {
          const answer = echo(request)
          if (earlier === undefined) request.socket.write(answer)
          else {
            const { socket } = request
            socket.write(earlier)
            late = () => void socket.write(answer)
          }
          earlier ??= answer
        })
        expect(await ask('one', stream)).to.equal('echo one')
        // It came after the request was written: nothing tells it from the response.
        expect(await ask('two', stream)).to.equal('echo one')
        const closed = once(provider.sockets[0]!, 'close')
        late?.()
        await closed
        provider.respond((request) => request.socket.write(echo(request)))
        for (const text of ['three', 'four']) expect(await ask(text, stream)).to.equal(`echo ${text}`)
      })

      it('never give a client what was for another, if the provider speaks before it is asked', async () => {
        const greeting = stream ? streamOf('greeting') : wholeOf('greeting')
        provider.respond(
          (request) => request.socket.write(echo(request)),
          (socket) => socket.write(greeting),
        )
        for (let index = 0; index < 5; index++) {
          const text = await ask(`text ${index}`, stream)
          expect(text).to.match(new RegExp(`^(greeting|502: .*|echo text ${index})$`))
        }
      })

      it('are closed when the client leaves, and what they bring then reaches nobody', async () => {
        let received: (request: RawRequest) => void = () => {}
        const first = new Promise<RawRequest>((resolve) => {
          received = resolve
        })
        provider.respond((request) => received(request))
        const controller = new AbortController()
        const { signal } = controller
        const cancelled = post(gateway, '/v1/chat/completions', bodyFor('one', stream), { signal }).catch(
          () => undefined,
        )
        const request = await first
        const closed = once(request.socket, 'close')
        request.socket.once('end', () => request.socket.write(echo(request)))
        controller.abort()
        await Promise.all([cancelled, closed])
        provider.respond((next) => next.socket.write(echo(next)))
        expect(await ask('two', stream)).to.equal('echo two')
      })
    })
  }
})

const wholeOf = (content: string): Buffer => rawResponse(JSON.stringify(completion({ content })))

function streamOf(content: string): Buffer {
  const records = [chunk({ content }), chunk({}, 'stop')].map(
    (record) => `data: ${JSON.stringify(record)}\n\n`,
  )
  return rawResponse(`${records.join('')}data: [DONE]\n\n`, { 'content-type': 'text/event-stream' })
}

/** The answer to a request, which repeats its text. */
function echo({ body }: RawRequest): Buffer {
  const content = `echo ${body.messages.at(-1).content}`
  return body.stream ? streamOf(content) : wholeOf(content)
}
