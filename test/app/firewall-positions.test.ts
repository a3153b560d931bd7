import { expect } from 'chai'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import type { Answer, RunningGateway } from '../support/gateway.ts'
import { messagePositions } from '../support/message-positions.ts'
import { MODELS } from '../support/providers.ts'
import { pairs } from '../support/rounds.ts'
import { useSandboxGateway } from '../support/sandbox-gateway.ts'

const WORD = 'hush-4711'
const NUMBER = 987654321

const base64 = (text: string) => Buffer.from(text).toString('base64')
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
const call = (more: object) => ({ id: 'call_1', type: 'function', ...more })
const called = (argumentsText: string) => call({ function: { name: 'look', arguments: argumentsText } })
const conversation = (toolCall: object, result: unknown = 'ok') => ({
  messages: [
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: null, tool_calls: [toolCall] },
    { role: 'tool', tool_call_id: 'call_1', content: result },
  ],
})
const withField = (field: object) => ({ ...user('hello'), ...field })
const withParameters = (parameters: object) =>
  withField({ tools: [{ type: 'function', function: { name: 'look', parameters } }] })
const file = (fields: object) => user([{ type: 'file', file: fields }])

/** A chat body with the word in one position. Not every provider takes every body. */
const POSITIONS: Readonly<Record<string, object>> = {
  'a user message': user(`a ${WORD} b`),
  'a system message': { messages: [{ role: 'system', content: WORD }, ...user('hello').messages] },
  'a text part': user([{ type: 'text', text: WORD }]),
  'a text part that begins with data:': user([{ type: 'text', text: `data: my ${WORD}` }]),
  'a text part that looks like a data URL': user([{ type: 'text', text: `data:text/plain;base64,${WORD}` }]),
  'a system part that begins with data:': {
    messages: [{ role: 'system', content: [{ type: 'text', text: `data:${WORD}` }] }, ...user('hi').messages],
  },
  'the name of a participant': { messages: [{ role: 'user', name: WORD, content: 'hello' }] },
  'an image URL': user([{ type: 'image_url', image_url: { url: `https://example.com/${WORD}.png` } }]),
  'the detail of an image': user([
    { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: WORD } },
  ]),
  'a text file': file({ filename: 'a.txt', file_data: `data:text/plain;base64,${base64(`a ${WORD} b`)}` }),
  'a percent-encoded text file': file({
    filename: 'a.txt',
    file_data: `data:text/plain,a%20${WORD.replace('u', '%75')}`,
  }),
  'a text file that claims to be a PDF': file({
    filename: 'a.pdf',
    file_data: `data:application/pdf;base64,${base64(`a ${WORD} b`)}`,
  }),
  'a text file behind a control character': file({
    filename: 'a.txt',
    file_data: `data:application/octet-stream;base64,${base64(`\x01 ${WORD} ${'and more '.repeat(20)}`)}`,
  }),
  'a text file in UTF-16 without a byte order mark': file({
    filename: 'a.txt',
    file_data: `data:text/plain;base64,${Buffer.from(`a ${WORD} b`, 'utf16le').toString('base64')}`,
  }),
  'a text file in UTF-16, high bytes first': file({
    filename: 'a.txt',
    file_data: `data:text/plain;base64,${Buffer.from(`\ufeffa ${WORD} b`, 'utf16le').swap16().toString('base64')}`,
  }),
  'the name of a file': file({ filename: WORD, file_data: `data:text/plain;base64,${base64('hello')}` }),
  'an unknown part': user([
    { type: 'text', text: 'hello' },
    { type: 'hologram', hologram: { note: WORD } },
  ]),
  'a field beside a text': user([{ type: 'text', text: 'hello', caption: WORD }]),
  'tool arguments': conversation(called(JSON.stringify({ deep: [{ q: WORD }] }))),
  'escaped tool arguments': conversation(called(`{"q":"${escapeAll(WORD)}"}`)),
  'an escaped key of tool arguments': conversation(called(`{"${escapeAll(WORD)}":1}`)),
  'a duplicate key of tool arguments': conversation(called(`{"q":"${WORD}","q":"fine"}`)),
  'a number in tool arguments': conversation(called(`{"a":"${NUMBER}","b":${NUMBER}}`)),
  'a number in another form': conversation(called('{"b":9.87654321e8}')),
  'a tool result in parts that are JSON together': conversation(called('{}'), [
    { type: 'text', text: '{"q":' },
    { type: 'text', text: `"${escapeAll(WORD)}"}` },
  ]),
  'tool arguments that are not JSON': conversation(called(`{"q":"${WORD}`)),
  'a tool result': conversation(called('{}'), JSON.stringify({ found: WORD })),
  'a part of a tool result that begins with data:': conversation(called('{}'), [
    { type: 'text', text: `data: ${WORD}` },
  ]),
  'the input of a custom tool': conversation({
    ...called('{}'),
    custom: { name: 'x', input: WORD },
  }),
  'reasoning given back': {
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'hm', reasoning_content: WORD },
      { role: 'user', content: 'go on' },
    ],
  },
  'a refusal given back': {
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: null, refusal: WORD },
      { role: 'user', content: 'go on' },
    ],
  },
  'an audio transcript': {
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'x', audio: { id: 'audio_1', transcript: WORD } },
      { role: 'user', content: 'go on' },
    ],
  },
  'the id of a call that is prose': {
    messages: [
      ...user('hello').messages,
      { role: 'assistant', content: null, tool_calls: [{ ...called('{}'), id: `about ${WORD}` }] },
      { role: 'tool', tool_call_id: `about ${WORD}`, content: 'ok' },
    ],
  },
  'the name of a tool that is prose': withField({
    tools: [{ type: 'function', function: { name: `tell me about ${WORD}`, parameters: {} } }],
  }),
  'the description of a tool': withField({
    tools: [{ type: 'function', function: { name: 'look', description: WORD } }],
  }),
  'the description of a parameter': withParameters({
    type: 'object',
    properties: { q: { type: 'string', description: WORD } },
  }),
  'the name of a parameter': withParameters({ type: 'object', properties: { [WORD]: { type: 'string' } } }),
  'an enum of a parameter': withParameters({
    type: 'object',
    properties: { q: { type: 'string', enum: [WORD, 'b'] } },
  }),
  'a property named type': withParameters({
    type: 'object',
    properties: { type: { type: 'string', description: WORD } },
  }),
  'the type of a parameter': withParameters({ type: WORD, properties: {} }),
  'a definition of a schema': withParameters({
    type: 'object',
    properties: {},
    $defs: { a: { type: 'string', default: WORD } },
  }),
  'a number in a schema': withParameters({
    type: 'object',
    properties: { q: { type: 'integer', default: NUMBER } },
  }),
  'a response schema': withField({
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'answer', schema: { type: 'object', title: WORD } },
    },
  }),
  'a prediction': withField({ prediction: { type: 'content', content: WORD } }),
  'a prediction in parts': withField({
    prediction: { type: 'content', content: [{ type: 'text', text: WORD }] },
  }),
  'a stop sequence': withField({ stop: [WORD] }),
  user: withField({ user: WORD }),
  'metadata in user': withField({ user: JSON.stringify({ team: WORD }) }),
  'stored metadata': withField({ store: true, metadata: { note: WORD } }),
  'a key of stored metadata': withField({ store: true, metadata: { [WORD]: 'x' } }),
  'a safety identifier': withField({ safety_identifier: WORD }),
  'a seed': withField({ seed: NUMBER }),
  'a tool choice': withField({
    tools: [{ type: 'function', function: { name: 'look' } }],
    tool_choice: { type: 'function', function: { name: 'look' }, note: WORD },
  }),
  'an effort': withField({ reasoning_effort: WORD }),
  'an unknown field': withField({ x_note: { deep: [WORD] } }),
  'the name of an unknown field': withField({ [WORD]: true }),
  'a field named type in an unknown field': withField({ x_note: { type: WORD } }),
}

const POSITIONS_BY_PATH = {
  '/v1/chat/completions': { positions: POSITIONS, models: Object.values(MODELS) },
  '/v1/messages': {
    positions: messagePositions(WORD, NUMBER),
    // Once as it is, and once converted.
    models: [MODELS.anthropic ?? '', MODELS.openai ?? ''],
  },
}

/** Bodies of other endpoints with the word in one position. */
const OTHER_BODIES: readonly (readonly [string, object])[] = [
  ['/v1/responses', { input: WORD }],
  ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_text', text: `data: ${WORD}` }] }] }],
  ['/v1/responses', { input: 'hello', instructions: WORD }],
  ['/v1/responses', { input: 'hello', user: WORD }],
  [
    '/v1/responses',
    { input: 'hello', tools: [{ type: 'function', name: 'look', description: WORD, parameters: {} }] },
  ],
  [
    '/v1/responses',
    { input: 'hello', text: { format: { type: 'json_schema', name: 'a', schema: { title: WORD } } } },
  ],
  ['/v1/messages/count_tokens', { messages: [{ role: 'user', content: WORD }] }],
  ['/v1/embeddings', { input: WORD }],
  ['/v1/embeddings', { input: ['hello', `data: ${WORD}`] }],
  ['/v1/embeddings', { input: 'hello', user: WORD }],
  ['/v1/embeddings', { input: 'hello', encoding_format: 'float', [WORD]: 1 }],
  ['/v1/embeddings', { input: 'hello', x_note: { deep: [WORD] } }],
  ['/v1/embeddings', { input: [1, 2] }],
  ['/v1/completions', { prompt: WORD }],
  ['/v1/completions', { prompt: [`data: ${WORD}`] }],
  ['/v1/completions', { prompt: 'hello', stop: [WORD] }],
  ['/v1/completions', { prompt: 'hello', x_note: { deep: [WORD] } }],
  ['/v1/moderations', { input: WORD }],
  ['/v1/moderations', { input: ['hello', WORD] }],
  ['/v1/moderations', { input: [{ type: 'text', text: WORD }] }],
  ['/v1/moderations', { input: [{ type: 'text', text: 'hello', caption: WORD }] }],
  ['/v1/moderations', { input: 'hello', [WORD]: 1 }],
  ['/openai/deployments/gpt-4o/chat/completions', { messages: [{ role: 'user', content: WORD }] }],
  ['/openai/deployments/gpt-4o/responses', { input: WORD }],
  ['/openai/v1/embeddings', { input: WORD }],
  ['/route', { prompt: WORD }],
  ['/route', { prompt: 'hello', user_id: WORD }],
  ['/route', { prompt: 'hello', tools: [{ type: 'function', function: { name: 'f', description: WORD } }] }],
]

describe('the firewall inspects', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let gateway: RunningGateway

  useSandboxGateway(1000, (...started) => {
    ;[sandbox, gateway] = started
  })

  const send = (path: string, model: string, body: object) => gateway.call('POST', path, { model, ...body })

  /** Each body with each model. */
  async function forEachPosition(work: (ask: () => Promise<Answer>, position: string) => Promise<void>) {
    for (const [path, { positions, models }] of Object.entries(POSITIONS_BY_PATH)) {
      for (const [model, [position, body]] of pairs(models, Object.entries(positions)))
        await work(() => send(path, model, body), `${model}: ${path}: ${position}`)
    }
  }

  async function withRules(action: string, work: () => Promise<void>): Promise<void> {
    const ids: number[] = []
    for (const pattern of [WORD, String(NUMBER)]) {
      const { body } = await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ action, pattern }))
      ids.push(body.data.id)
    }
    try {
      await work()
    } finally {
      for (const id of ids) await gateway.call('DELETE', `/v1/firewall-rules/${id}`)
    }
  }

  it('every position: a block refuses the request for every provider', async () => {
    await withRules('block', () =>
      forEachPosition(async (ask, position) => {
        const before = sandbox.requests.length
        const { status, body: answer } = await ask()
        expect(status, `${position}: ${JSON.stringify(answer)}`).to.equal(403)
        expect(sandbox.requests.length, position).to.equal(before)
      }),
    )
  })

  it('every position: no provider receives what a mask covers', async () => {
    let asked = 0
    let delivered = 0
    await withRules('mask', () =>
      forEachPosition(async (ask, position) => {
        const before = sandbox.requests.length
        const { status } = await ask()
        asked += 1
        expect(status, position).to.be.below(500)
        for (const { body: received } of sandbox.requests.slice(before)) {
          delivered += 1
          const text = JSON.stringify(decode(received))
          expect(text, position).not.to.contain(WORD)
          expect(text, position).not.to.contain(String(NUMBER))
        }
      }),
    )
    // Most bodies reach most providers; the rest is refused for fields that a provider does not have.
    expect(delivered).to.be.above(asked / 2)
  })

  it('the other endpoints', async () => {
    await withRules('block', async () => {
      for (const [path, body] of OTHER_BODIES) {
        const before = sandbox.requests.length
        const base = path === '/route' ? gateway.routeUrl : gateway.url
        const response = await fetch(base + path, {
          method: 'POST',
          headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
        expect(response.status, `${path} ${JSON.stringify(body)}`).to.equal(403)
        expect(sandbox.requests.length).to.equal(before)
      }
    })
  })

  it('headers that reach a provider', async () => {
    const model = MODELS.anthropic ?? ''
    const betas = `interleaved-thinking-2025-05-14,${WORD}`
    const ask = () =>
      gateway.call(
        'POST',
        '/v1/messages',
        { model, ...user('hello'), max_tokens: 9 },
        { 'anthropic-beta': betas, authorization: `Bearer ${gateway.demoKey}` },
      )
    await withRules('block', async () => {
      expect((await ask()).status).to.equal(403)
    })
    await withRules('mask', async () => {
      expect((await ask()).status).to.equal(200)
      expect(sandbox.requests.at(-1)?.headers).to.include({
        'anthropic-beta': 'interleaved-thinking-2025-05-14',
      })
    })
  })

  it('every position: a warning is given', async () => {
    await withRules('warn', async () => {
      for (const [position, body] of Object.entries(POSITIONS)) {
        const { status, body: answer } = await send('/v1/chat/completions', MODELS.openai ?? '', body)
        if (status !== 200) continue
        expect(JSON.stringify(answer.metadata?.warnings ?? []), position).to.contain('firewall')
      }
    })
  })
})

/** The JSON escapes of the letters of a text. */
function escapeAll(text: string): string {
  return [...text].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
}

/** What a model could read: JSON documents and base64 in strings are decoded, too. */
function decode(value: unknown): unknown {
  if (typeof value === 'string') return [value, decodeText(value)]
  if (Array.isArray(value)) return value.map(decode)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value).map(([key, field]) => [key, decode(field)])
}

function decodeText(text: string): unknown {
  const [, base64Text] = text.match(/^data:[^,]*;base64,(.*)$/s) ?? []
  if (base64Text !== undefined) return Buffer.from(base64Text, 'base64').toString().replaceAll('\0', '')
  if (/^data:/.test(text)) return decodeURIComponent(text)
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' ? decode(parsed) : parsed
  } catch {
    return null
  }
}
