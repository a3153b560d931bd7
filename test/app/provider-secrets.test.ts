import { expect } from 'chai'
import type { SseEvent } from '../../core/contract/index.ts'
import { findLeaks, place } from '../support/leaks.ts'
import {
  type Combination,
  combinations,
  encodeReply,
  type ProviderAnswer,
  type ProviderCall,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'

/** Keys with characters that JSON and URLs escape, and one that is a word. */
const SECRETS = {
  OPENAI_API_KEY: 'w4lrus"\\/+%20&=tr4in-5up3r',
  ANTHROPIC_API_KEY: 'hedg3hog-0f-anthr0pic-4711',
  GEMINI_API_KEY: 'AIza-l00k-alike-0f-gemini',
  MISTRAL_API_KEY: 'm1stral~kn0ws~n0~prefix',
  DEEPSEEK_API_KEY: 'd33pseek.5ecret.9182',
  ACME_API_KEY: 'acm3_5ecret_0f_the_r0w',
  ADMIN_KEY: '4dmin-key-0f-this-gateway',
}

const all = Object.values(SECRETS).join(' and ')

/** What a provider says about the key that it was sent, and about every other secret. */
const SAID =
  `Incorrect API key provided: ${all}; ${JSON.stringify(SECRETS)}; ` +
  `${Object.values(SECRETS).map(encodeURIComponent).join('&')}; ` +
  Object.values(SECRETS)
    .flatMap((key) => ['', 'u', 'us'].map((user) => Buffer.from(`${user}:${key}`).toString('base64')))
    .join(' ')

/** An error in the provider's format that the caller is to blame for, so that its message is passed on. */
function errorOf({ format }: Pick<ProviderCall, 'format'>): object {
  const key = SECRETS.OPENAI_API_KEY
  switch (format) {
    case 'anthropic':
      return { type: 'error', error: { type: 'invalid_request_error', message: SAID } }
    case 'gemini':
      return { error: { code: 400, status: 'INVALID_ARGUMENT', message: SAID } }
    default:
      return {
        error: { type: 'invalid_request_error', code: `400_${key}`, param: `key.${key}`, message: SAID },
      }
  }
}

function toRecord(call: ProviderCall): SseEvent {
  if (call.format === 'anthropic') return { event: 'error', data: JSON.stringify(errorOf(call)) }
  if (call.format !== 'responses') return { event: '', data: JSON.stringify(errorOf(call)) }
  const fields = { code: 'invalid_request_error', param: SECRETS.OPENAI_API_KEY, message: SAID }
  return { event: 'error', data: JSON.stringify({ type: 'error', ...fields }) }
}

/** The places of an error: a response with an error status, or a place within one of status 200. */
const PLACES: Readonly<Record<string, { streams: boolean[]; answer(call: ProviderCall): ProviderAnswer }>> = {
  'an error response': { streams: [false, true], answer: (call) => ({ status: 400, body: errorOf(call) }) },
  'a body with status 200': { streams: [false], answer: (call) => ({ body: errorOf(call) }) },
  'the first record': { streams: [true], answer: (call) => ({ records: [toRecord(call)] }) },
  'a later record': {
    streams: [true],
    answer: (call) => ({ records: [...(encodeReply(call, {}).records ?? []).slice(0, 3), toRecord(call)] }),
  },
  'a failed response': {
    streams: [true],
    answer(call) {
      if (call.format !== 'responses') return { records: [toRecord(call)] }
      const response = { status: 'failed', ...errorOf(call) }
      const data = JSON.stringify({ type: 'response.failed', response })
      return { records: [{ event: 'response.failed', data }] }
    },
  },
}

describe('secrets in what providers say', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench(
      { ...SECRETS, LOG_LEVEL: 'trace' },
      'breaker: { min_requests: 100000 }',
    )
  })
  after(() => bench?.close())

  function expectClean(raw: string, headers: Headers): void {
    const seen = [place('the answer', raw), place('the headers', JSON.stringify([...headers]))]
    expect(findLeaks(SECRETS, seen), raw).to.deep.equal([])
  }

  for (const [name, { streams, answer }] of Object.entries(PLACES))
    for (const combination of combinations().filter(({ stream }) => streams.includes(stream)))
      it(`are removed from ${name}: ${combination.title}`, async () => {
        bench.respond(answer)
        const asked = await bench.ask(combination)
        expectClean(asked.raw, asked.headers)
        expect(asked.raw).to.contain('Incorrect API key provided: [redacted]')
        await expectCleanRecord(combination, asked.headers)
      })

  async function expectCleanRecord({ dialect }: Combination, headers: Headers): Promise<void> {
    const id = headers.get('x-request-id')
    expect(id, dialect).to.be.a('string')
    const { body } = await bench.gateway.call('GET', `/v1/requests/${id}`)
    expect(findLeaks(SECRETS, [place('the record', JSON.stringify(body))])).to.deep.equal([])
  }

  for (const [path, body] of [
    ['/v1/embeddings', { model: 'openai:text-embedding-3-small', input: 'Hi' }],
    ['/v1/moderations', { model: 'openai:omni-moderation-latest', input: 'Hi' }],
  ] as const)
    for (const status of [200, 400])
      it(`are removed from errors with status ${status} at ${path}`, async () => {
        bench.respond(() => ({ status, body: errorOf({ format: 'openai' }) }))
        const { body: answer, headers } = await bench.gateway.call('POST', path, body)
        expectClean(JSON.stringify(answer), headers)
        expect(answer.error.message).to.contain('Incorrect API key provided: [redacted]')
      })

  it('are not in the log and the metrics', async () => {
    const authorization = `Bearer ${SECRETS.ADMIN_KEY}`
    const response = await fetch(`${bench.gateway.url}/metrics`, { headers: { authorization } })
    const metrics = await response.text()
    expect(metrics).to.contain('signalbox_provider_attempts_total')
    const log = bench.gateway.stderr()
    expect(log).to.contain('/v1/chat/completions')
    const seen = [place('the log', log), place('the metrics', metrics)]
    expect(findLeaks(SECRETS, seen)).to.deep.equal([])
  })

  it('stay in replies, which may use the same words', async () => {
    for (const combination of combinations(['chat', 'messages', 'responses'])) {
      bench.respond((call) => encodeReply(call, { text: SECRETS.ACME_API_KEY }))
      expect((await bench.ask(combination)).text).to.equal(SECRETS.ACME_API_KEY)
    }
  })
})

describe('an ordinary word as a key', () => {
  const WORDS = { OPENAI_API_KEY: 'message', ACME_API_KEY: 'token' }
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench(WORDS)
  })
  after(() => bench?.close())

  const messages = {
    'The message has too many tokens; a token limit applies.':
      'The message has too many tokens; a token limit applies.',
    'Incorrect API key provided: token. Get a token.': 'Incorrect API key provided: [redacted]. Get a token.',
    'Rejected "Basic message", max_token_count: 5': 'Rejected "Basic [redacted]", max_token_count: 5',
    'token limit exceeded': 'token limit exceeded',
  }
  for (const combination of combinations(undefined, ['openai', 'compatible']))
    for (const [said, shown] of Object.entries(messages))
      it(`leaves texts as they are: ${combination.title}, ${said}`, async () => {
        const error = { type: 'invalid_request_error', message: said }
        bench.respond(({ stream }) =>
          stream
            ? { records: [{ event: '', data: JSON.stringify({ error }) }] }
            : { status: 400, body: { error } },
        )
        expect((await bench.ask(combination)).raw).to.contain(JSON.stringify(shown).slice(1, -1))
      })
})
