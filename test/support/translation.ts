import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SseEvent } from '../../core/contract/index.ts'
import { nextImmediate } from '../../core/util/next-immediate.ts'
import { anthropicFormat } from '../../providers/sandbox/anthropic/format.ts'
import { toAnthropicBody, toAnthropicStream } from '../../providers/sandbox/anthropic/reply.ts'
import { deepseekFormat } from '../../providers/sandbox/deepseek/format.ts'
import { toDeepSeekBody, toDeepSeekStream } from '../../providers/sandbox/deepseek/reply.ts'
import { geminiFormat } from '../../providers/sandbox/gemini/format.ts'
import { createGeminiReplyEncoder } from '../../providers/sandbox/gemini/reply.ts'
import { mistralFormat } from '../../providers/sandbox/mistral/format.ts'
import { toMistralBody, toMistralStream } from '../../providers/sandbox/mistral/reply.ts'
import { openaiFormat } from '../../providers/sandbox/openai/format.ts'
import { toOpenAiBody, toOpenAiStream } from '../../providers/sandbox/openai/reply.ts'
import { parseSandboxResponse } from '../../providers/sandbox/openai/responses.ts'
import type { ModelReply } from '../../providers/sandbox/shared/model-reply.ts'
import { type ChatCall, SandboxError, type WireFormat } from '../../providers/sandbox/shared/wire-format.ts'
import { readRecords } from './dialects.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { pairs } from './rounds.ts'
import { sendRequest } from './send-request.ts'
import { writeSettings } from './settings-file.ts'

type Encoder = Pick<ChatCall, 'toBody' | 'toStream'>

const openAiChat: Encoder = {
  toBody: (reply) => toOpenAiBody(reply, []),
  toStream: (reply) => toOpenAiStream(reply, [], true),
}

/**
 * The provider formats: a model that the gateway sends to a provider of the format, and how that provider
 * encodes replies. `responses` is OpenAI's Responses API, `compatible` another provider of its chat format.
 */
export const FORMATS = {
  openai: { model: 'openai:gpt-4o', ...openAiChat },
  responses: { model: 'openai:pro-1', ...parseSandboxResponse({ model: 'pro-1', input: 'Hi' }) },
  anthropic: { model: 'anthropic:claude-sonnet-4-6', toBody: toAnthropicBody, toStream: toAnthropicStream },
  gemini: { model: 'gemini:gemini-3.8-flash', ...createGeminiReplyEncoder(true) },
  mistral: { model: 'mistral:mistral-large-4', toBody: toMistralBody, toStream: toMistralStream },
  deepseek: {
    model: 'deepseek:deepseek-flash',
    toBody: toDeepSeekBody,
    toStream: (reply: ModelReply) => toDeepSeekStream(reply, reply.reasoning !== undefined, true),
  },
  compatible: { model: 'acme:loco-1', ...openAiChat },
} satisfies Readonly<Record<string, Encoder & { readonly model: string }>>

export type FormatName = keyof typeof FORMATS

export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[]

/** The API key of each provider; `acme` is the compatible one. */
export const PROVIDER_KEYS: Readonly<Record<string, string>> = Object.fromEntries(
  ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek', 'acme'].map((id) => [id, `key-of-${id}-5up3r`]),
)

/** The client dialects that ask for text: their endpoint, and the body that asks a model about a text. */
export const CHAT_DIALECTS = {
  chat: {
    path: '/v1/chat/completions',
    streams: true,
    bodyOf: (model: string, text: string) => ({ model, messages: [{ role: 'user', content: text }] }),
  },
  messages: {
    path: '/v1/messages',
    streams: true,
    bodyOf: (model: string, text: string) => ({
      model,
      max_tokens: 1000,
      messages: [{ role: 'user', content: text }],
    }),
  },
  responses: {
    path: '/v1/responses',
    streams: true,
    bodyOf: (model: string, text: string) => ({ model, input: text }),
  },
  completions: {
    path: '/v1/completions',
    streams: true,
    bodyOf: (model: string, text: string) => ({ model, prompt: text }),
  },
  route: {
    path: '/route',
    streams: false,
    bodyOf: (model: string, text: string) => ({ model_preferences: [model.split(':')[1]], prompt: text }),
  },
} as const

export type DialectName = keyof typeof CHAT_DIALECTS

export interface Combination {
  readonly dialect: DialectName
  readonly format: FormatName
  readonly stream: boolean
}

/** Pairs of which the provider reads the client's own format, which is passed through. */
const NATIVE = ['chat × openai', 'messages × anthropic', 'responses × responses']

/**
 * Every dialect × format × whole and stream, of the given dialects and formats or of all. Between them is one
 * form of requests and replies, so quick tests have each dialect, each format and the native pairs.
 */
export function combinations(
  dialects: readonly DialectName[] = Object.keys(CHAT_DIALECTS) as DialectName[],
  formats: readonly FormatName[] = FORMAT_NAMES,
): readonly (Combination & { readonly title: string })[] {
  const tested = new Set(pairs(dialects, formats).map(([dialect, format]) => `${dialect} × ${format}`))
  return dialects.flatMap((dialect) =>
    formats.flatMap((format) => {
      const pair = `${dialect} × ${format}`
      if (!tested.has(pair) && !NATIVE.includes(pair)) return []
      return (CHAT_DIALECTS[dialect].streams ? [false, true] : [false]).map((stream) => {
        return { dialect, format, stream, title: `${pair}, ${stream ? 'stream' : 'whole'}` }
      })
    }),
  )
}

/** A request as a provider received it. */
export interface ProviderCall {
  readonly format: FormatName
  readonly path: string
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: a body of any format
  readonly body: any
  readonly stream: boolean
}

/** What a provider answers: a body, or the records of a stream. */
export interface ProviderAnswer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** An object or its text. */
  readonly body?: object | string
  readonly records?: readonly SseEvent[]
  /** Called before each record, which waits for it. */
  readonly before?: (index: number) => Promise<unknown> | undefined
  /** The connection is dropped behind the body or records. */
  readonly isCut?: boolean
  /** The connection is closed before the answer. */
  readonly isClosed?: boolean
  /** The answer begins when this resolves. */
  readonly until?: Promise<unknown>
}

type Respond = (call: ProviderCall) => ProviderAnswer | Promise<ProviderAnswer>

/** A gateway whose providers, one of each format, are one scripted server. */
export interface TranslationBench {
  readonly gateway: RunningGateway
  /** The address of the providers; each has a path of its own, such as `/openai`. */
  readonly providerUrl: string
  /** The requests that providers received, oldest first. */
  readonly calls: ProviderCall[]
  /** Decides what providers answer from now on. Default: `encodeReply(call, {})`. */
  respond(with_: Respond): void
  ask(combination: Combination, options?: AskOptions): Promise<Asked>
  close(): Promise<void>
}

export interface AskOptions {
  readonly text?: string
  /** Fields added to the body that asks about `text`, or replacing its fields. */
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

// biome-ignore lint/suspicious/noExplicitAny: a body of any dialect
type Loose = any

/** An answer of the gateway, read in the client's dialect. */
export interface Asked {
  readonly status: number
  readonly headers: Headers
  /** As it was received. */
  readonly raw: string
  /** The JSON body; of a stream, undefined. */
  readonly body: Loose
  /** The records of a stream, without `[DONE]`. */
  readonly records: readonly Loose[]
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  /** The error of the body, or of the last record that has one. */
  readonly error: Loose
  readonly warnings: readonly string[]
}

/** A reply in the provider's format: by default the text `Hello.`. */
export function encodeReply({ format, stream }: ProviderCall, reply: Partial<ModelReply>): ProviderAnswer {
  const { toBody, toStream } = FORMATS[format]
  const finish = reply.toolCalls === undefined ? 'stop' : 'tool_calls'
  const whole: ModelReply = {
    id: 'r1',
    created: 1_795_000_000,
    model: FORMATS[format].model.split(':')[1] ?? '',
    text: reply.toolCalls === undefined ? 'Hello.' : '',
    toolCalls: [],
    finish,
    usage: { input: 10, output: 5 },
    ...reply,
  }
  if (!stream) return { body: toBody(whole) }
  const { content, closing } = toStream(whole)
  return { records: [...content, ...closing] }
}

const VALIDATORS: Readonly<Record<FormatName, WireFormat>> = {
  openai: openaiFormat,
  responses: openaiFormat,
  anthropic: anthropicFormat,
  gemini: geminiFormat,
  mistral: mistralFormat,
  deepseek: deepseekFormat,
  compatible: openaiFormat,
}

/** Why the sandbox, which has rules of its own, would refuse a request; undefined if it would not. */
export function refusalOf({ format, path, body, headers }: ProviderCall): string | undefined {
  const validator = VALIDATORS[format]
  const rest = path.replace(/^\/[^/]+|\?.*/g, '')
  try {
    validator.parseCall(validator === openaiFormat ? `/v1${rest}` : rest, body, headers)
    return undefined
  } catch (error) {
    if (error instanceof SandboxError) return error.message
    throw error
  }
}

export async function startTranslationBench(
  environment: Readonly<Record<string, string>> = {},
  settings = '',
  timeouts: Readonly<Record<string, number>> = {},
): Promise<TranslationBench> {
  const calls: ProviderCall[] = []
  let respond: Respond = (call) => encodeReply(call, {})
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const path = request.url ?? ''
    const body = text === '' ? undefined : JSON.parse(text)
    const stream = body?.stream === true || path.includes(':streamGenerateContent')
    const call = { format: formatOf(path), path, headers: request.headers, body, stream }
    calls.push(call)
    await send(response, await respond(call))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const gateway = await startGateway({
    CONFIG: await writeSettings(COMMON_SETTINGS + toTimeouts(timeouts) + settings),
    ...Object.fromEntries(
      Object.entries(PROVIDER_KEYS).flatMap(([id, key]) => [
        [`${id.toUpperCase()}_API_KEY`, key],
        [`${id.toUpperCase()}_BASE_URL`, `${url}/${id}`],
      ]),
    ),
    ...environment,
  })
  return {
    gateway,
    providerUrl: url,
    calls,
    respond(with_) {
      respond = with_
    },
    ask: (combination, options) => ask(gateway, combination, options),
    async close() {
      await gateway.stop()
      server.close()
      server.closeAllConnections()
    },
  }
}

const COMMON_SETTINGS = `
rate_limits:
  requests_per_minute: { free: null, paid: null }
limits: { auth_failures_per_minute: null }
providers:
  acme:
    format: openai
    base_url: http://127.0.0.1:1
    capabilities: { json: schema }
models:
  - id: loco-1
    provider: acme
    context: 128000
    max_output: 8192
    price: { input: 0.4, cached: 0.1, output: 1.6 }
    quality: 70
    latency_ms: 1500
    capabilities: { tools: true, images: true, json: schema }
  - id: pro-1
    provider: openai
    context: 400000
    max_output: 128000
    price: { input: 10, cached: 1, output: 50 }
    quality: 90
    latency_ms: 9000
    reasoning: true
    sampling: false
    capabilities: { tools: true, images: true, json: schema }
    quirks: { responses: always }
  - id: blind-1
    provider: deepseek
    context: 128000
    max_output: 8192
    price: { input: 1, output: 1 }
    quality: 1
    latency_ms: 9000
    capabilities: { tools: true, images: false, json: object }
`

const toTimeouts = (timeouts: object) => `timeouts: ${JSON.stringify({ keep_alive_ms: 5000, ...timeouts })}\n`

/** The provider is the first segment of the path. */
function formatOf(path: string): FormatName {
  const [, provider = ''] = path.split('/')
  if (provider === 'acme') return 'compatible'
  return path.startsWith('/openai/responses') ? 'responses' : (provider as FormatName)
}

async function send(response: ServerResponse, answer: ProviderAnswer): Promise<void> {
  const { status = 200, headers, body, records = [], before, isCut, isClosed, until } = answer
  await until
  if (isClosed) return void response.socket?.destroySoon()
  const type = body === undefined ? 'text/event-stream' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  if (body !== undefined) response.write(typeof body === 'string' ? body : JSON.stringify(body))
  for (const [index, { event, data }] of records.entries()) {
    await before?.(index)
    response.write(`${event === '' ? '' : `event: ${event}\n`}data: ${data}\n\n`)
  }
  if (!isCut) return void response.end()
  // Node collects what is written in one turn of the event loop.
  await nextImmediate()
  response.socket?.destroySoon()
}

async function ask(
  gateway: RunningGateway,
  { dialect, format, stream }: Combination,
  { text = 'Hi', body, headers, signal }: AskOptions = {},
): Promise<Asked> {
  const { path, bodyOf } = CHAT_DIALECTS[dialect]
  const base = dialect === 'route' ? gateway.routeUrl : gateway.url
  const sent = { ...bodyOf(FORMATS[format].model, text), ...(stream && { stream }), ...body }
  const { text: raw, ...response } = await sendRequest(base + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.demoKey}`,
      'content-type': 'application/json',
      'x-response-form': 'openai',
      ...headers,
    },
    body: JSON.stringify(sent),
    signal,
    isPartial: true,
  })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const records = isStream ? readRecords(raw) : []
  const answer = isStream ? undefined : JSON.parse(raw)
  return {
    ...response,
    raw,
    body: answer,
    records,
    error: answer?.error ?? records.findLast(errorOf) ?? null,
    warnings: warningsOf([answer, ...records]),
    ...READERS[dialect](answer, records),
  }
}

/** The error of a record: at its top level, or of a failed response. */
const errorOf = (record: Loose) => record.error ?? record.response?.error

function warningsOf(bodies: readonly Loose[]): readonly string[] {
  const fields = bodies.flatMap((body) => [body?.signalbox, body?.response?.signalbox])
  return [...new Set(fields.flatMap((each) => each?.warnings ?? []).map(({ message }) => message))]
}

type Content = Pick<Asked, 'text' | 'reasoning' | 'calls'>
type Read = (body: Loose, records: readonly Loose[]) => Content

const readChat: Read = (body, records) => {
  const message = body?.choices?.[0]?.message
  const deltas = message ? [message] : records.map(({ choices }) => choices?.[0]?.delta ?? {})
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const [position, call] of deltas.flatMap(({ tool_calls = [] }) => [...(tool_calls ?? []).entries()])) {
    calls[call.index ?? position] ??= { id: '', name: '', arguments: '' }
    const open = calls[call.index ?? position]!
    open.id ||= call.id ?? ''
    open.name += call.function?.name ?? ''
    open.arguments += call.function?.arguments ?? ''
  }
  const joined = (field: string) => deltas.map((delta: Loose) => delta[field] ?? '').join('')
  return { text: joined('content'), reasoning: joined('reasoning_content'), calls }
}

const READERS: Readonly<Record<DialectName, Read>> = {
  chat: readChat,
  route: readChat,
  completions: (body, records) => ({
    text: [body, ...records].map((each) => each?.choices?.[0]?.text ?? '').join(''),
    reasoning: '',
    calls: [],
  }),
  messages(body, records) {
    const blocks: Loose[] = body?.content ?? []
    for (const { type, index, content_block, delta } of records) {
      if (type === 'content_block_start') blocks[index] = { ...content_block, json: '' }
      if (type !== 'content_block_delta') continue
      const block = blocks[index]
      block.text = (block.text ?? '') + (delta.text ?? '')
      block.thinking = (block.thinking ?? '') + (delta.thinking ?? '')
      block.json += delta.partial_json ?? ''
    }
    const joined = (type: string, field: string) =>
      blocks.map((block) => (block.type === type ? block[field] : '')).join('')
    return {
      text: joined('text', 'text'),
      reasoning: joined('thinking', 'thinking'),
      calls: blocks
        .filter(({ type }) => type === 'tool_use')
        .map(({ id, name, input, json }) => ({ id, name, arguments: json || JSON.stringify(input) })),
    }
  },
  responses(body, records) {
    const ended = records.findLast(({ response }) => response?.output !== undefined)
    const output: Loose[] = body?.output ?? ended?.response.output ?? []
    const joined = (type: string, field: string) =>
      output
        .filter((item) => item.type === type)
        .flatMap((item) => item[field] ?? [])
        .map(({ text = '' }) => text)
        .join('')
    return {
      text: joined('message', 'content'),
      reasoning: joined('reasoning', 'summary') + joined('reasoning', 'content'),
      calls: output
        .filter(({ type }) => type === 'function_call')
        .map(({ call_id, name, arguments: json }) => ({ id: call_id, name, arguments: json })),
    }
  },
}
