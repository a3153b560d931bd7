import type { RunningGateway } from '../gateway.ts'
import { newUser, type TestUser } from '../new-user.ts'
import { MODELS } from '../providers.ts'

/** The kinds of answers that OpenAI's API description has a schema for. */
export type AnswerKind =
  | 'completion'
  | 'chunk'
  | 'response'
  | 'event'
  | 'input items'
  | 'model'
  | 'models'
  | 'message'
  | 'message event'
  | 'message error'
  | 'text completion'
  | 'text chunk'
  | 'embeddings'
  | 'moderation'
  | 'error'

/** One object that a client parses: a body, or one record of a stream. */
export interface RecordedAnswer {
  readonly kind: AnswerKind
  /** The request that led to it. */
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: schemas judge it
  readonly value: any
}

/** A client that the gateway does not know. */
const HEADERS = { 'user-agent': 'go-http-client/2.0' }

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

const TAGS = { provider: 'acme', routing_mode: 'mine', tenant: 't' }

/** Requests for chat completions, with what the sandbox makes of them. */
const CHATS: Readonly<Record<string, object>> = {
  text: {},
  'tagged text': { metadata: TAGS },
  'a cut text': { max_tokens: 3 },
  reasoning: { reasoning_effort: 'high' },
  'parallel calls': {
    content: 'Use a tool, parallel',
    tools: [{ type: 'function', function: { name: 'weather', parameters: PARAMETERS } }],
  },
  'a tool result': {
    messages: [
      { role: 'user', content: 'Hm' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    ],
  },
  'a refusal': { content: 'No [[sandbox:refuse]]' },
  'a rate limit': { content: 'Hm [[sandbox:status=429]]' },
  'a failing provider': { content: 'Hm [[sandbox:status=500]]' },
  'a refused request': { content: 'Hm [[sandbox:status=400 code=context_length_exceeded]]' },
  'a broken stream': { content: 'Hm [[sandbox:cut=3]]' },
  'a failed stream': { content: 'Hm [[sandbox:error-mid=3]]' },
  'an invalid parameter': { temperature: 7 },
  'a blocked text': { content: 'This is forbidden' },
}

const RESPONSES: Readonly<Record<string, object>> = {
  text: { input: 'Hello there' },
  'tagged text': { metadata: TAGS, user: 'u-1', instructions: 'Be brief.' },
  'a cut text': { max_output_tokens: 3 },
  reasoning: { reasoning: { effort: 'high', summary: 'auto' } },
  'parallel calls': {
    input: 'Use a tool, parallel',
    tools: [
      { type: 'function', name: 'weather', parameters: PARAMETERS },
      { type: 'function', name: 'time' },
    ],
  },
  'earlier items': {
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Hm' }] },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }] },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'One', annotations: [] }],
      },
      { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'rain' },
    ],
  },
  'a refusal': { input: 'No [[sandbox:refuse]]' },
  'a rate limit': { input: 'Hm [[sandbox:status=429]]' },
  'a failing provider': { input: 'Hm [[sandbox:status=500]]' },
  'a broken stream': { input: 'Hm [[sandbox:cut=3]]' },
  'a failed stream': { input: 'Hm [[sandbox:error-mid=3]]' },
  'an invalid parameter': { temperature: 7 },
  'a blocked text': { input: 'This is forbidden' },
}

/** Requests for completions of texts. */
const COMPLETIONS: Readonly<Record<string, object>> = {
  text: {},
  'a cut text': { max_tokens: 3 },
  'a refusal': { prompt: 'No [[sandbox:refuse]]' },
  'a failing provider': { prompt: 'Hm [[sandbox:status=500]]' },
  'a failed stream': { prompt: 'Hm [[sandbox:error-mid=3]]' },
  'a blocked text': { prompt: 'This is forbidden' },
}

/** Requests for messages. */
const MESSAGES: Readonly<Record<string, object>> = {
  text: { system: 'Be brief.' },
  'a cut text': { max_tokens: 3 },
  thinking: { thinking: { type: 'enabled', budget_tokens: 1024 } },
  'parallel calls': {
    content: 'Use a tool, parallel',
    tools: [{ name: 'weather', input_schema: PARAMETERS }],
  },
  'a refusal': { content: 'No [[sandbox:refuse]]' },
  'a rate limit': { content: 'Hm [[sandbox:status=429]]' },
  'a failing provider': { content: 'Hm [[sandbox:status=500]]' },
  'a broken stream': { content: 'Hm [[sandbox:cut=3]]' },
  'a failed stream': { content: 'Hm [[sandbox:error-mid=3]]' },
  'an invalid parameter': { temperature: 7 },
  'a blocked text': { content: 'This is forbidden' },
}

const EMBEDDINGS = [
  ['text-embedding-3-small', 'Hello'],
  ['gemini-embedding-2', ['Hello', 'there']],
  ['codestral-embed', 'This is forbidden'],
] as const

/** Every kind of answer of a gateway whose providers are the sandbox, for a user with rules that warn. */
export async function recordAnswers(gateway: RunningGateway): Promise<readonly RecordedAnswer[]> {
  const user = await newUser(gateway)
  await addRules(user)
  const recorder = createRecorder(gateway, user)
  await Promise.all(Object.values(MODELS).map((model) => askAll(recorder, model)))
  for (const [model, input] of EMBEDDINGS)
    await recorder.ask('/v1/embeddings', 'embeddings', { model, input, dimensions: 1536 })
  for (const model of ['omni-moderation-latest', 'mistral-moderation-latest', 'gpt-4o'])
    await recorder.ask('/v1/moderations', 'moderation', { model, input: ['Hello', 'kill'] })
  await recorder.readStored()
  await recorder.get('/v1/models', 'models')
  for (const id of ['gpt-4o', 'auto:cost', 'nothing']) await recorder.get(`/v1/models/${id}`, 'model')
  await recorder.get('/v1/unknown', 'error')
  await recorder.get('/v1/chat/completions', 'error')
  await recorder.get('/v1/responses/resp_unknown', 'error')
  return recorder.answers
}

type Recorder = ReturnType<typeof createRecorder>

async function askAll(recorder: Recorder, model: string): Promise<void> {
  for (const [name, fields] of casesFor(model, CHATS)) {
    const { content = 'Hello there', ...rest } = fields as { content?: string }
    const body = { model, messages: [{ role: 'user', content }], ...rest }
    await recorder.post('/v1/chat/completions', `chat, ${name}: ${model}`, body)
  }
  for (const [name, fields] of casesFor(model, COMPLETIONS)) {
    const body = { model, prompt: 'Hello there', ...fields }
    await recorder.post('/v1/completions', `completions, ${name}: ${model}`, body)
  }
  for (const [name, fields] of casesFor(model, RESPONSES)) {
    const body = { model, input: 'Hello there', ...fields }
    await recorder.post('/v1/responses', `responses, ${name}: ${model}`, body)
  }
  for (const [name, fields] of casesFor(model, MESSAGES)) {
    const { content = 'Hello there', ...rest } = fields as { content?: string }
    const body = { model, max_tokens: 5000, messages: [{ role: 'user', content }], ...rest }
    await recorder.post('/v1/messages', `messages, ${name}: ${model}`, body)
  }
}

/** Failures of one provider are enough: they are retried with backoff, and look the same for all. */
function casesFor(model: string, cases: Readonly<Record<string, object>>): readonly [string, object][] {
  const isFailing = (fields: object) => /sandbox:(?!refuse)/.test(JSON.stringify(fields))
  return Object.entries(cases).filter(([, fields]) => model === MODELS.openai || !isFailing(fields))
}

export async function addRules(user: TestUser): Promise<void> {
  await user.call('POST', '/v1/routing-rules', {
    name: 'noted',
    is_enabled: true,
    priority: 0,
    match_json: {},
    action_json: { add_warning: 'Noted.' },
  })
  await user.call('POST', '/v1/firewall-rules', {
    name: 'forbidden',
    is_enabled: true,
    priority: 0,
    scope: 'prompt',
    type: 'substring',
    pattern: 'forbidden',
    action: 'block',
  })
}

function createRecorder(gateway: RunningGateway, user: TestUser) {
  const answers: RecordedAnswer[] = []
  const stored: string[] = []

  async function send(method: string, path: string, body?: object): Promise<Response> {
    return await fetch(gateway.url + path, {
      method,
      headers: {
        ...HEADERS,
        authorization: `Bearer ${user.key}`,
        'content-type': 'application/json',
        'x-include-trace': 'true',
      },
      ...(body && { body: JSON.stringify(body) }),
    })
  }

  async function record(kind: AnswerKind, name: string, response: Response): Promise<void> {
    const value = (await response.json()) as RecordedAnswer['value']
    answers.push({ kind: response.ok ? kind : errorKindOf(kind), name, value })
    const id = response.headers.get('x-request-id') ?? ''
    if (kind === 'response') stored.push(value.id ?? id)
  }

  async function recordStream(kind: AnswerKind, name: string, response: Response): Promise<void> {
    if (!response.ok) return await record(kind, name, response)
    for (const line of (await readAll(response)).split('\n')) {
      if (!line.startsWith('data: {')) continue
      const value = JSON.parse(line.slice('data: '.length))
      answers.push({ kind: 'error' in value && kind.endsWith('chunk') ? 'error' : kind, name, value })
      if (value.type === 'response.created') stored.push(value.response.id)
    }
  }

  return {
    answers,
    /** Sends a request twice: for a whole answer and for a stream. */
    async post(path: string, name: string, body: object): Promise<void> {
      const [whole, streamedKind, more] = KINDS.get(path) ?? []
      if (whole === undefined || streamedKind === undefined) throw new Error(`${path} has no kinds.`)
      await record(whole, name, await send('POST', path, body))
      const streamed = await send('POST', path, { ...body, stream: true, ...more })
      await recordStream(streamedKind, `${name}, streamed`, streamed)
    },
    /** Sends a request to an endpoint that does not stream. */
    async ask(path: string, kind: AnswerKind, body: object): Promise<void> {
      await record(kind, `POST ${path}`, await send('POST', path, body))
    },
    async get(path: string, kind: AnswerKind): Promise<void> {
      await record(kind, `GET ${path}`, await send('GET', path))
    },
    /** Reads, replays and lists the responses so far. */
    async readStored(): Promise<void> {
      for (const id of stored.slice()) {
        const name = `stored ${id}`
        const path = `/v1/responses/${id}`
        await record('response', name, await send('GET', path))
        await record('input items', name, await send('GET', `${path}/input_items`))
        await record('input items', name, await send('GET', `${path}/input_items?after=unknown`))
        await recordStream('event', `${name}, streamed`, await send('POST', path, { stream: true }))
      }
    },
  }
}

/** By path: the kinds of whole answers and of records, and what requests for streams have besides. */
const KINDS = new Map<string, readonly [AnswerKind, AnswerKind, object?]>([
  ['/v1/chat/completions', ['completion', 'chunk', { stream_options: { include_usage: true } }]],
  ['/v1/responses', ['response', 'event']],
  ['/v1/messages', ['message', 'message event']],
  ['/v1/completions', ['text completion', 'text chunk', { stream_options: { include_usage: true } }]],
])

function errorKindOf(kind: AnswerKind): AnswerKind {
  return kind.startsWith('message') ? 'message error' : 'error'
}

/** Reads a body; a connection that breaks ends it. */
async function readAll({ body }: Response): Promise<string> {
  let text = ''
  const decoder = new TextDecoder()
  try {
    for await (const bytes of body ?? []) text += decoder.decode(bytes, { stream: true })
  } catch {
    // The connection ended before the body did.
  }
  return text
}
