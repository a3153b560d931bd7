import { expect } from 'chai'
import { readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { BUILT_IN, installAll, listPlugins } from '../support/plugins.ts'
import { type StoppedTimers, stopTimers } from '../support/timers.ts'
import {
  CHAT_DIALECTS,
  combinations,
  type DialectName,
  encodeReply,
  FORMATS,
  type ProviderCall,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

/** Lengths that no other timer has. */
const TICK_MS = 3001
const SILENCE_MS = 5 * TICK_MS

const COMMENT = ': keep-alive\n\n'
const KEEP_ALIVES: Readonly<Record<string, string>> = {
  chat: COMMENT,
  completions: COMMENT,
  responses: COMMENT,
  messages: 'event: ping\ndata: {"type":"ping"}\n\n',
}
const DIALECTS = Object.keys(KEEP_ALIVES) as DialectName[]

const streams = combinations(DIALECTS).filter(({ stream }) => stream)

/** A promise that the test settles. */
function createGate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open: () => open(), opened }
}

/** The text of the records of any dialect. */
const textOf = (records: string) =>
  [...records.matchAll(/"(?:content|text|delta)":"([^"]*)"/g)].map(([, text]) => text).join('')

/** Reads a response piece by piece. */
function createReader(response: Response) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  return {
    next: async () => (await reader.read()).value ?? '',
    /** The rest, also of a body that ends without its last chunk. */
    async rest() {
      let text = ''
      try {
        for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value
      } catch {
        // The response is incomplete.
      }
      return text
    },
  }
}

describe('a stream that waits', () => {
  let bench: TranslationBench
  let timers: StoppedTimers
  before(async () => {
    // For all tests: the gateways keep their timer.
    timers = stopTimers(TICK_MS)
    bench = await startTranslationBench({}, 'breaker: { min_requests: 1000 }\n', {
      stream_keep_alive_ms: SILENCE_MS,
    })
  })
  after(async () => {
    timers.restore()
    await bench?.close()
  })
  beforeEach(() => {
    bench.calls.length = 0
  })

  function passSilence(): void {
    for (let passed = 0; passed < SILENCE_MS; passed += TICK_MS) timers.pass(TICK_MS)
  }

  function send(
    dialect: DialectName,
    model: string,
    { signal, gateway = bench.gateway }: { signal?: AbortSignal; gateway?: RunningGateway } = {},
  ): Promise<Response> {
    const { path, bodyOf } = CHAT_DIALECTS[dialect]
    return fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...bodyOf(model, 'Hi'), stream: true }),
      ...(signal && { signal }),
    })
  }

  /** Answers the calls in this order once the gate is open; resolves `received` with the first call. */
  function answerLate(...answers: ((call: ProviderCall) => ReturnType<typeof encodeReply>)[]) {
    const received = createGate()
    const gate = createGate()
    bench.respond((call) => {
      const answer = answers[bench.calls.length - 1] ?? answers.at(-1)!
      received.open()
      return { ...answer(call), until: gate.opened }
    })
    return { received: received.opened, open: gate.open }
  }

  const reply = (call: ProviderCall) => encodeReply(call, {})
  const busy = () => ({ status: 500, body: { error: { message: 'Broken', type: 'server_error' } } })

  async function recordOf(response: Response) {
    const id = response.headers.get('x-request-id')
    return (await bench.gateway.call('GET', `/v1/requests/${id}`)).body.data
  }

  for (const { dialect, format, title } of streams) {
    it(`gets keep-alives before the first event of the provider: ${title}`, async () => {
      const { received, open } = answerLate(reply)
      const sent = send(dialect, FORMATS[format].model)
      await received
      passSilence()
      const response = await sent
      expect(response.status).to.equal(200)
      expect(response.headers.get('content-type')).to.match(/^text\/event-stream/)
      expect(response.headers.has('x-provider')).to.equal(false)
      const reader = createReader(response)
      expect(await reader.next()).to.equal(KEEP_ALIVES[dialect])
      passSilence()
      expect(await reader.next()).to.equal(KEEP_ALIVES[dialect])
      open()
      const text = await reader.rest()
      expect(textOf(text)).to.contain('Hello.')
      const [first] = readRecords(text)
      expect(JSON.stringify(first)).to.contain('"signalbox"')
      expect((await recordOf(response)).outcome).to.equal('answered')
    })

    it(`gets keep-alives between two events: ${title}`, async () => {
      const gate = createGate()
      bench.respond((call) => {
        const answer = encodeReply(call, { text: 'word '.repeat(20) })
        const middle = Math.floor((answer.records?.length ?? 0) / 2)
        return { ...answer, before: (index) => (index === middle ? gate.opened : undefined) }
      })
      const sent = send(dialect, FORMATS[format].model)
      await timers.passUntil(TICK_MS, sent)
      const reader = createReader(await sent)
      const keepAlive = KEEP_ALIVES[dialect]!
      // Messages begin with a ping.
      const expected = dialect === 'messages' ? 2 : 1
      let text = ''
      while (text.split(keepAlive).length - 1 < expected) {
        const next = reader.next()
        await timers.passUntil(TICK_MS, next)
        text += await next
      }
      gate.open()
      text += await reader.rest()
      expect(textOf(text)).to.contain('word ')
      for (const record of text.split('\n\n'))
        expect(record).to.match(/^(: keep-alive|(event: .*\n)?data: .*)?$/)
    })

    it(`gets an error as a record after a keep-alive, without the last chunk: ${title}`, async () => {
      const { received, open } = answerLate(busy)
      const sent = send(dialect, FORMATS[format].model)
      await received
      passSilence()
      const response = await sent
      const reader = createReader(response)
      expect(await reader.next()).to.equal(KEEP_ALIVES[dialect])
      open()
      const records = readRecords(await reader.rest())
      const last = records.at(-1)
      const error = last.error ?? last.response.error
      expect(error.message).to.contain('returned a server error.')
      if (dialect === 'messages') expect(last.type).to.equal('error')
      if (dialect === 'responses') expect(last.type).to.equal('response.failed')
      const record = await recordOf(response)
      expect(record).to.include({ status: 200, outcome: 'failed' })
      expect(record.error.code).to.equal('provider_error')
    })
  }

  for (const dialect of DIALECTS) {
    it(`fails over behind keep-alives: ${dialect}`, async () => {
      const { received, open } = answerLate(busy, reply)
      const sent = send(dialect, 'auto:cost')
      await received
      passSilence()
      const response = await sent
      open()
      expect(textOf(await createReader(response).rest())).to.contain('Hello.')
      expect(bench.calls).to.have.length(2)
      const outcomes = (await recordOf(response)).attempts.map(({ outcome }: { outcome: string }) => outcome)
      expect(outcomes).to.deep.equal(['provider_error', 'ok'])
    })

    it(`is recorded with its cost if the client disconnects behind a keep-alive: ${dialect}`, async () => {
      const { received } = answerLate(reply)
      const leaving = new AbortController()
      const sent = send(dialect, FORMATS.openai.model, { signal: leaving.signal })
      await received
      passSilence()
      const response = await sent
      leaving.abort()
      let record = await recordOf(response)
      while (record === undefined) record = await recordOf(response)
      expect(record).to.deep.include({ status: 499, aborted: true })
      expect(record.cost_usd).to.be.above(0)
      expect(record.attempts[0].outcome).to.equal('cancelled')
    })
  }

  it('keeps the HTTP status of an error that arrives before the first keep-alive', async () => {
    const { received, open } = answerLate(busy)
    const sent = send('chat', FORMATS.openai.model)
    await received
    for (let passed = 0; passed < 4; passed++) timers.pass(TICK_MS)
    open()
    expect((await sent).status).to.equal(502)
  })

  const MIDDLEWARE = {
    'that only listens': 'export default (ctx, next) => next()',
    'that replaces the body': `import { Readable } from 'node:stream'
export default async (ctx, next) => {
  await next()
  const { body } = ctx
  if (body instanceof Readable) ctx.body = Readable.from((async function* () { yield* body })())
}`,
  }
  for (const [name, source] of Object.entries(MIDDLEWARE)) {
    describe(`behind middleware ${name}`, () => {
      let gateway: RunningGateway
      before(async () => {
        const pluginFolder = await installAll({ middleware: source })
        const CONFIG = await listPlugins(
          pluginFolder,
          ['middleware', ...BUILT_IN],
          `timeouts: { stream_keep_alive_ms: ${SILENCE_MS} }\n`,
        )
        const url = bench.providerUrl
        const environment = { OPENAI_API_KEY: 'a-provider-key', OPENAI_BASE_URL: `${url}/openai`, CONFIG }
        gateway = await startGateway(environment, { pluginFolder })
      })
      after(() => gateway.stop())

      for (const dialect of DIALECTS) {
        it(`gets keep-alives, then the reply: ${dialect}`, async () => {
          const { received, open } = answerLate(reply)
          const sent = send(dialect, 'gpt-4o', { gateway })
          await received
          passSilence()
          const reader = createReader(await sent)
          expect(await reader.next()).to.equal(KEEP_ALIVES[dialect])
          passSilence()
          expect(await reader.next()).to.equal(KEEP_ALIVES[dialect])
          open()
          expect(textOf(await reader.rest())).to.contain('Hello.')
        })
      }
    })
  }
})
