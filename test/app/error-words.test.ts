import { expect } from 'chai'
import { anthropicFormat } from '../../providers/sandbox/anthropic/format.ts'
import { deepseekFormat } from '../../providers/sandbox/deepseek/format.ts'
import { geminiFormat } from '../../providers/sandbox/gemini/format.ts'
import { mistralFormat } from '../../providers/sandbox/mistral/format.ts'
import { openaiFormat } from '../../providers/sandbox/openai/format.ts'
import { findProviderError } from '../../providers/sandbox/shared/provider-errors.ts'
import { SandboxError, type WireFormat } from '../../providers/sandbox/shared/wire-format.ts'
import { pairs } from '../support/rounds.ts'
import {
  type Asked,
  type Combination,
  combinations,
  type DialectName,
  encodeReply,
  FORMATS,
  type FormatName,
  type ProviderAnswer,
  type ProviderCall,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'
import { readVectors } from '../support/vectors.ts'

const WIRE_FORMATS: Readonly<Record<FormatName, WireFormat>> = {
  openai: openaiFormat,
  responses: openaiFormat,
  compatible: openaiFormat,
  anthropic: anthropicFormat,
  gemini: geminiFormat,
  mistral: mistralFormat,
  deepseek: deepseekFormat,
}

/** Longer than what the gateway reads at once: the reply has begun when the error arrives. */
const LONG_TEXT = 'word '.repeat(60_000)

/** Where the error is: in place of a reply, or as a record of its stream. */
type Place = 'status' | 'first' | 'middle'

function answerWithError(name: string, place: Place, call: ProviderCall): ProviderAnswer {
  const wire = WIRE_FORMATS[call.format]
  const { status, message, code } = findProviderError(name, wire.name)!
  const error = new SandboxError(status, message, { code })
  if (place === 'status') return { status, body: wire.toErrorBody(error) }
  const records = place === 'first' ? [] : firstHalf(encodeReply(call, { text: LONG_TEXT }).records!)
  const { data } = wire.toErrorEvent(error)
  const isNamed = call.format === 'responses' || call.format === 'anthropic'
  return { records: [...records, { event: isNamed ? 'error' : '', data }] }
}

function firstHalf<Element>(list: readonly Element[]): readonly Element[] {
  return list.slice(0, list.length / 2)
}

interface Expected {
  readonly status: number
  readonly type?: string
  readonly code?: string
  /** Of a response that failed after it had begun. */
  readonly failed?: string
  readonly message?: RegExp
}

/** What clients test for, by error and by the format of the client. See docs/guides/errors.md. */
const EXPECTED: Readonly<Record<string, { readonly openai: Expected; readonly anthropic: Expected }>> = {
  overflow: {
    openai: {
      status: 400,
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
      failed: 'context_length_exceeded',
      message: /maximum context length is \d+ tokens|exceeds the context window/,
    },
    anthropic: {
      status: 400,
      type: 'invalid_request_error',
      // What Claude Code reads the numbers with.
      message: /prompt is too long[^0-9]*(\d+)\s*tokens?\s*>\s*(\d+)/i,
    },
  },
  overloaded: {
    openai: {
      status: 503,
      type: 'service_unavailable_error',
      code: 'server_is_overloaded',
      failed: 'server_is_overloaded',
    },
    anthropic: { status: 529, type: 'overloaded_error' },
  },
  quota: {
    openai: {
      status: 429,
      type: 'insufficient_quota',
      code: 'insufficient_quota',
      failed: 'insufficient_quota',
    },
    anthropic: { status: 402, type: 'billing_error' },
  },
  'content-filter': {
    openai: { status: 400, type: 'invalid_request_error', code: 'content_filter', failed: 'invalid_prompt' },
    anthropic: {
      status: 400,
      type: 'invalid_request_error',
      message: /Output blocked by content filtering policy/,
    },
  },
  image: {
    openai: {
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid_image',
      failed: 'invalid_image',
      message: /The image data you provided does not represent a valid image/,
    },
    anthropic: { status: 400, type: 'invalid_request_error', message: /Could not process image/ },
  },
  'large-image': {
    openai: { status: 400, code: 'image_too_large', failed: 'image_too_large' },
    anthropic: { status: 400, type: 'invalid_request_error', message: /image exceeds.*maximum/ },
  },
  'too-large': {
    openai: {
      status: 413,
      type: 'invalid_request_error',
      code: 'request_too_large',
      failed: 'invalid_prompt',
    },
    anthropic: { status: 413, type: 'request_too_large' },
  },
}

const CASES = combinations(['chat', 'messages', 'responses', 'completions'])

describe('error words', () => {
  let bench: TranslationBench

  before(async () => {
    // Overloads would open the circuits.
    bench = await startTranslationBench({}, 'breaker: { min_requests: 10000 }\n')
  })
  after(() => bench.close())

  async function check(name: string, place: Place, combination: Combination): Promise<void> {
    const { dialect, format, stream } = combination
    const { status, type, code, failed, message } =
      EXPECTED[name]![dialect === 'messages' ? 'anthropic' : 'openai']
    // A model whose quota is used up is not asked again soon.
    const model = `${FORMATS[format].model.split(':')[0]}:${dialect}-${stream}-${place}`
    const asked = await bench.ask(combination, name === 'quota' ? { body: { model } } : {})
    // OpenAI reports an overflow of a streamed response in the stream.
    const isFailedResponse = dialect === 'responses' && stream && (place === 'middle' || name === 'overflow')
    expect(asked.status).to.equal(place === 'middle' || isFailedResponse ? 200 : status)
    const error = errorOf(asked)
    if (message !== undefined) expect(error.message).to.match(message)
    if (isFailedResponse) {
      expect(asked.records.at(-1)).to.include({ type: 'response.failed' })
      expect(error.code).to.equal(failed)
      return
    }
    expect(error.http_status).to.equal(status)
    if (type !== undefined) expect(error.type).to.equal(type)
    if (code !== undefined) expect(codeOf(error, format)).to.equal(code)
  }

  // A record has no status, which is all that says so at most providers.
  for (const name of Object.keys(EXPECTED))
    for (const place of name === 'too-large'
      ? (['status'] as const)
      : (['status', 'first', 'middle'] as const))
      it(`are those of every client: ${name}, ${place}`, async () => {
        bench.respond((call) => answerWithError(name, place, call))
        const cases = CASES.filter(
          ({ format, stream }) =>
            place === 'status' || (stream && !(name === 'quota' && format === 'mistral')),
        )
        await Promise.all(
          cases.map(({ title, ...combination }) =>
            check(name, place, combination).catch((error) => {
              error.message = `${title}: ${error.message}`
              throw error
            }),
          ),
        )
      })

  // Proxies in front of a provider have errors of their own form, and not always its type.
  for (const [name, headers] of [
    ['JSON', {}],
    ['a text', { 'content-type': 'text/plain' }],
    ['an event', undefined],
  ] as const)
    it(`are those of every client for an error in OpenAI's form with status 200, as ${name}`, async () => {
      const message = "This model's maximum context length is 100 tokens. However, you requested 200 tokens."
      const body = { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } }
      bench.respond(() =>
        headers === undefined ? { records: [{ event: '', data: JSON.stringify(body) }] } : { headers, body },
      )
      for (const { title, ...combination } of CASES) {
        const asked = await bench.ask(combination)
        const { message: shown } = errorOf(asked)
        const pattern =
          combination.dialect === 'messages' ? /prompt is too long/ : /maximum context length is/
        expect(shown, title).to.match(pattern)
      }
    })

  describe('of a context that is exceeded', () => {
    const SAID = readVectors<readonly { readonly said: string; readonly told: string }[]>('context-errors')

    for (const [status, { said, told }] of pairs([400, 413, 500], SAID))
      it(`are understood with status ${status}: ${said}`, async () => {
        bench.respond(() => ({ status, body: { error: { message: said } } }))
        const asked = await bench.ask({ dialect: 'messages', format: 'compatible', stream: false })
        expect(asked.status).to.equal(400)
        expect(asked.error.message).to.contain(told)
        expect(asked.headers.get('x-error-code')).to.equal('context_length_exceeded')
      })

    for (const said of [
      'Rate limit reached: limit 30000 tokens, context length exceeded',
      'Invalid messages[0].content: string too long. Expected a string with maximum length 10, context length exceeded',
    ])
      it(`are not taken for others: ${said}`, async () => {
        bench.respond(() => ({ status: 400, body: { error: { message: said } } }))
        const { headers } = await bench.ask({ dialect: 'chat', format: 'compatible', stream: false })
        expect(headers.get('x-error-code')).to.equal('provider_refused')
      })

    it('are said when no model has such a context', async () => {
      const text = 'word '.repeat(2_000_000)
      const calls = bench.calls.length
      const asked = await bench.ask(
        { dialect: 'messages', format: 'openai', stream: false },
        { text, body: { model: 'auto:cost' } },
      )
      expect(asked.status).to.equal(400)
      expect(asked.error.message).to.match(/prompt is too long: \d+ tokens > \d+ maximum/)
      expect(bench.calls.length).to.equal(calls)
    })

    it('are sent only when no model with a larger context serves the request', async () => {
      const asked = { dialect: 'chat', format: 'openai', stream: false } as const
      const tried: number[] = []
      bench.respond((call) => {
        tried.push(tried.length)
        return tried.length === 1 ? answerWithError('overflow', 'status', call) : encodeReply(call, {})
      })
      const { status, text } = await bench.ask(asked, { body: { model: 'auto:cost' } })
      expect([status, text]).to.deep.equal([200, 'Hello.'])
      expect(tried).to.have.length(2)
    })

    it('never open a circuit', async () => {
      const asked = { dialect: 'chat', format: 'compatible', stream: false } as const
      bench.respond((call) => answerWithError('overflow', 'status', call))
      for (let time = 0; time < 30; time++) expect((await bench.ask(asked)).status).to.equal(400)
      bench.respond((call) => encodeReply(call, {}))
      expect((await bench.ask(asked)).status).to.equal(200)
    })
  })

  describe('about a field', () => {
    /** How providers of a format name a canonical field that they refuse: in `param` or in the message. */
    const MESSAGES = 'messages[0].content'
    const TOOLS = ['tools', 'tools[0].function.parameters.type', 'tool_choice.function.name']
    const REFUSED: Readonly<Record<FormatName, readonly Refused[]>> = {
      openai: [
        MESSAGES,
        'max_completion_tokens',
        'stop',
        'user',
        ...TOOLS,
        'response_format.json_schema.name',
      ].map(inParam),
      compatible: [MESSAGES, 'max_tokens', 'stop', 'user'].map(inParam),
      deepseek: [MESSAGES, 'max_tokens', 'stop'].map(inParam),
      mistral: [
        ...[MESSAGES, 'max_tokens'].map(inParam),
        inLocation('messages', 0, 'content'),
        inLocation('messages', 0, 'user', 'content'),
        inLocation('max_tokens'),
        inLocation('stop', 'str'),
      ],
      responses: [
        ...['input[0].content[0].text', 'input', 'instructions', 'max_output_tokens'].map(inParam),
        ...['text.format.schema', 'reasoning.effort', 'text.verbosity'].map(inParam),
      ],
      anthropic: [
        'messages.0.content: Input should be a valid string',
        'messages.0.content.0.text: text content blocks must be non-empty',
        'system: text content blocks must be non-empty',
        'max_tokens: 100000 > 64000, which is the maximum allowed',
        'stop_sequences: each must contain non-whitespace',
        'tools.0.custom.input_schema: JSON schema is invalid',
        'tool_choice.name: not found',
        'output_config.format.schema: unsupported',
        'metadata.user_id: too long',
      ].map((message) => ({ error: { type: 'invalid_request_error', message }, type: 'error' })),
      gemini: [
        'contents[0].parts[0].text',
        'contents',
        'system_instruction',
        'generation_config.max_output_tokens',
        'generationConfig.stopSequences',
        'tools[0].function_declarations[0].name',
        'generation_config.response_schema.type',
      ].map((field) => {
        const details = [
          { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field }] },
        ]
        return { error: { code: 400, status: 'INVALID_ARGUMENT', message: `Invalid ${field}`, details } }
      }),
    }

    const TOOL = ['tools', 'tools[0].function.parameters.type', 'tool_choice']
    const FORMAT = ['response_format', 'response_format.json_schema.name']
    const CHAT = ['max_tokens', 'stop', 'user', 'verbosity', 'reasoning_effort', ...TOOL, ...FORMAT]
    const CHOICE = 'tool_choice.function.name'

    /** The fields that each dialect has for those. Conversions of messages lose the places in them. */
    const OWN: Readonly<Record<DialectName, readonly string[]>> = {
      chat: ['messages', 'messages[0].content', CHOICE, ...CHAT],
      messages: [
        ...['messages', 'messages[0]', 'max_tokens', 'stop_sequences', 'metadata.user_id', 'verbosity'],
        ...['tools', 'tools[0].input_schema.type', 'tool_choice', 'tool_choice.name'],
        ...['output_config.format', 'output_config.effort'],
      ],
      responses: [
        ...['input', 'max_output_tokens', 'stop', 'user', 'text.verbosity', 'reasoning.effort'],
        ...['tools', 'tools[0].parameters.type', 'tool_choice', 'tool_choice.name'],
        ...['text.format', 'text.format.name'],
      ],
      completions: ['prompt', CHOICE, ...CHAT],
      route: ['prompt', 'user_id', ...CHAT.filter((name) => name !== 'user')],
    }

    for (const { title, ...combination } of combinations())
      it(`name it as the caller wrote it: ${title}`, async () => {
        for (const refused of REFUSED[combination.format]) {
          bench.respond(() => ({ status: 400, body: refused }))
          const asked = await bench.ask(combination)
          expect(asked.status, asked.raw).to.equal(400)
          expect(asked.error.param, JSON.stringify(refused)).to.be.oneOf([...OWN[combination.dialect]])
        }
      })

    it('name the texts to embed', async () => {
      for (const [model, refused] of [
        ['openai:text-embedding-3-small', inParam('input[1]')],
        [
          'gemini:gemini-embedding-2',
          { error: { code: 400, message: "Invalid value at 'requests[0].content' (x)" } },
        ],
        ['mistral:mistral-embed', inLocation('input', 'list[str]', 1)],
      ] as const) {
        bench.respond(() => ({ status: 400, body: refused }))
        const response = await fetch(`${bench.gateway.url}/v1/embeddings`, {
          method: 'POST',
          headers: { authorization: `Bearer ${bench.gateway.demoKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model, input: ['a', 'b'] }),
        })
        const body = (await response.json()) as Loose
        expect([response.status, body.error.param], JSON.stringify(body)).to.deep.equal([400, 'input'])
      }
    })
  })

  it('of a rate limit say when Codex may try again', async () => {
    bench.respond((call) => {
      const records = firstHalf(encodeReply(call, { text: LONG_TEXT }).records!)
      const data = JSON.stringify({ error: { message: 'Slow down', code: 'rate_limit_exceeded' } })
      return { records: [...records, { event: '', data }] }
    })
    const asked = await bench.ask({ dialect: 'responses', format: 'openai', stream: true })
    const { error } = asked.records.at(-1).response
    expect(error.code).to.equal('rate_limit_exceeded')
    expect(error.message).to.match(/try again in\s*(\d+(?:\.\d+)?)\s*(s|ms|seconds?)/i)
  })
})

// biome-ignore lint/suspicious/noExplicitAny: an error of any dialect
type Loose = any

type Refused = object

function inParam(param: string): Refused {
  return { error: { message: `Invalid ${param}`, param } }
}

/** As validators in front of Mistral name it. */
function inLocation(...loc: readonly (string | number)[]): Refused {
  return { detail: [{ type: 'value_error', loc: ['body', ...loc], msg: 'Invalid' }] }
}

function errorOf({ body, records }: Asked): Loose {
  const last = records.at(-1)
  return body?.error ?? last?.response?.error ?? last?.error
}

/** A provider of OpenAI's format has a code of its own for some images, which OpenAI's clients know. */
function codeOf({ code }: Loose, format: FormatName): string {
  return WIRE_FORMATS[format].name === 'openai' && code === 'invalid_base64_image' ? 'invalid_image' : code
}
