import { expect } from 'chai'
import fc from 'fast-check'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import {
  hardText,
  type JsonStyle,
  jsonStyles,
  jsonValues,
  PLAIN_STYLE,
  writeJson,
} from '../support/json-texts.ts'
import { inRounds } from '../support/property.ts'
import { LONG_TIMEOUT_MS, ROUNDS } from '../support/rounds.ts'
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'

type Fields = Record<string, unknown>

/** With blanks around values and the id at the end: nothing that is written so is sent on as it came. */
const NEVER_COPIED: JsonStyle = { ...PLAIN_STYLE, blank: ' ' }

const writeNeverCopied = ({ id, ...fields }: Fields) => writeJson({ ...fields, id }, NEVER_COPIED)

/** Sometimes. */
const rarely = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 5, nil: undefined })

const text = fc.oneof({ weight: 8, arbitrary: hardText }, fc.constant('a long reply '.repeat(300)))
const style = fc.oneof({ weight: 2, arbitrary: fc.constant(PLAIN_STYLE) }, jsonStyles)
const usage = fc.record(
  {
    prompt_tokens: fc.nat(99),
    completion_tokens: fc.nat(99),
    total_tokens: fc.nat(99),
    prompt_tokens_details: fc.record({ cached_tokens: fc.nat(9) }),
    completion_tokens_details: fc.constantFrom(null, { reasoning_tokens: 1, usage: null }),
  },
  { requiredKeys: ['prompt_tokens', 'completion_tokens'] },
)
/** Fields that OpenAI does not send, or that the gateway adds. */
const others = fc.dictionary(
  fc.constantFrom('citations', 'provider', 'signalbox', 'metadata', 'latency_ms', 'x', '1', 'content'),
  jsonValues(fc.oneof(hardText, fc.constantFrom('content', 'usage', 'id'))),
  { maxKeys: 2, noNullPrototype: true },
)
const calls = fc.array(fc.tuple(fc.constantFrom('find', 'g-1'), hardText), { maxLength: 2 }).map((all) =>
  all.map(([name, value], index) => ({
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify({ value }) },
  })),
)
const envelope = {
  id: fc.constantFrom<unknown>('chatcmpl-1', 'chatcmpl-1', 'chatcmpl-1', 'a"b', 'é', '', null, undefined),
  created: fc.constantFrom<unknown>(7, 7, 7, 7.5, '7'),
  model: fc.constantFrom<unknown>('gpt-4o-2024', 'gpt-4o-2024', 'gpt-4o-2024', ''),
  system_fingerprint: rarely(fc.constantFrom('fp', null)),
  service_tier: rarely(fc.constantFrom('default', 'flex', null)),
}
const finish = fc.constantFrom('stop', 'stop', 'stop', 'length', 'content_filter', 'eos')

const whole = fc
  .record({
    ...{ envelope: fc.record(envelope), others: rarely(others), usage: fc.option(usage) },
    ...{ text: fc.option(text, { freq: 4 }), refusal: rarely(hardText), reasoning: rarely(hardText) },
    ...{ calls: rarely(calls), choiceOthers: rarely(others), finish, isLastFirst: fc.boolean() },
    missing: rarely(fc.subarray(['object', 'created', 'model'])),
  })
  .map(({ envelope, others, usage, text, refusal, reasoning, calls, choiceOthers, finish, ...form }) => {
    const message = {
      role: 'assistant',
      content: text,
      refusal: refusal ?? null,
      ...(reasoning !== undefined && { reasoning_content: reasoning }),
      ...(calls && calls.length > 0 && { tool_calls: calls }),
    }
    const choice = { index: 0, message, logprobs: null, ...choiceOthers, finish_reason: finish }
    const reply: Fields = { ...envelope, object: 'chat.completion', choices: [choice], usage, ...others }
    for (const name of form.missing ?? []) delete reply[name]
    return reply
  })

const OTHER_CHOICE = { index: 1, delta: {}, finish_reason: null }

/** A delta of a stream, and what else its chunk says. */
const piece = fc.record({
  delta: fc.oneof(
    { weight: 12, arbitrary: hardText.map((content) => ({ content })) },
    text.map((reasoning_content) => ({ reasoning_content })),
    text.map((refusal) => ({ refusal })),
    fc.constant({}),
    others,
  ),
  padding: fc.string({ unit: fc.constantFrom('a', 'B', '9'), maxLength: 9 }),
  others: fc.option(others, { freq: 12, nil: undefined }),
  choiceOthers: fc.option(others, { freq: 12, nil: undefined }),
})

const stream = fc
  .record({
    ...{ envelope: fc.record(envelope), pieces: fc.array(piece, { maxLength: 40 }), calls: rarely(calls) },
    ...{ usage: fc.option(usage), isPadded: fc.boolean(), hasEmptyUsage: fc.boolean(), finish },
    ...{ hasLogprobs: fc.boolean(), isUsageSeparate: fc.boolean(), others: rarely(others) },
    /** Where texts have another choice beside them. */
    other: fc.constantFrom('before', 'behind', ...Array<undefined>(8)),
  })
  .map(({ envelope, pieces, calls, usage, finish, others, ...form }) => {
    const toChunk = (choices: readonly object[], padding: string, more: object = {}): Fields => ({
      ...{ ...envelope, object: 'chat.completion.chunk', choices },
      ...(form.hasEmptyUsage && { usage: null }),
      ...(form.isPadded && { obfuscation: padding }),
      ...{ ...others, ...more },
    })
    const toChoice = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
      ...{ index: 0, delta, ...(form.hasLogprobs && { logprobs: null }), ...more, finish_reason },
    })
    const arguments_ = (calls ?? []).flatMap(({ id, type, function: { name, arguments: json } }, index) => [
      { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] },
      { tool_calls: [{ index, function: { arguments: json.slice(0, 5) } }] },
      { tool_calls: [{ index, function: { arguments: json.slice(5) } }] },
    ])
    const isSeparate = form.isUsageSeparate
    return [
      toChunk([toChoice({ role: 'assistant', content: '' })], 'p'),
      ...pieces.map(({ delta, padding, others, choiceOthers }) => {
        const choices = [toChoice(delta, null, choiceOthers)]
        if (form.other === 'before') choices.unshift(OTHER_CHOICE)
        if (form.other === 'behind') choices.push(OTHER_CHOICE)
        return toChunk(choices, padding, others)
      }),
      ...arguments_.map((delta) => toChunk([toChoice(delta)], 'p')),
      toChunk([toChoice({}, finish)], 'p', isSeparate ? {} : { usage }),
      ...(isSeparate ? [toChunk([], 'p', { usage })] : []),
    ]
  })

/** How many records are sent at once, again and again. */
const packets = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 4 })

/** Most clients are of the provider's format. */
const PATHS = ['/v1/chat/completions', '/v1/chat/completions', '/v1/messages', '/v1/responses'] as const

const MESSAGES = [{ role: 'user', content: 'Hello' }]
const BODIES = {
  '/v1/chat/completions': { messages: MESSAGES },
  '/v1/messages': { messages: MESSAGES, max_tokens: 9 },
  '/v1/responses': { input: 'Hello', store: false },
} as const

describe('replies that are sent on as they came', () => {
  let gateway: RunningGateway
  let provider: ScriptedProvider
  before(async () => {
    provider = await startScriptedProvider()
    gateway = await startGateway({ OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: 'x' })
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  /** What the client is told, without what differs from request to request. */
  async function ask(path: keyof typeof BODIES, more: object): Promise<object> {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', ...BODIES[path], ...more }),
    })
    const id = response.headers.get('x-request-id')?.replace('req_', '') ?? ''
    const told = (await response.text()).replaceAll(id, 'ID')
    const isStream = /event-stream/.test(response.headers.get('content-type') ?? '')
    const records = isStream ? told.split('\n\n').map(parseRecord) : [parseTold(told)]
    return { status: response.status, records }
  }

  const path = fc.constantFrom(...PATHS)

  it('say the same as when they are written anew', async () => {
    const isSame = fc.asyncProperty(whole, style, path, async (reply, style, path) => {
      provider.play({ body: writeJson(reply, style) })
      const answer = await ask(path, {})
      provider.play({ body: writeNeverCopied(reply) })
      expect(answer).to.deep.equal(await ask(path, {}))
      expect(answer).to.have.property('status', 200)
    })
    await fc.assert(isSame, inRounds(ROUNDS.forwardedBodies))
  }).timeout(LONG_TIMEOUT_MS)

  it('say the same as when they are written anew, streamed', async () => {
    const wantsUsage = fc.boolean()
    const isSame = fc.asyncProperty(
      ...([stream, style, packets, path, wantsUsage] as const),
      async (chunks, style, packets, path, include_usage) => {
        const isChat = path === '/v1/chat/completions'
        const more = { stream: true, ...(isChat && { stream_options: { include_usage } }) }
        const records = chunks.map((chunk, n) =>
          toRecord(writeJson(chunk, { ...style, seed: style.seed + n })),
        )
        provider.play({ chunks: joinPackets(records, packets) })
        const answer = await ask(path, more)
        provider.play({ chunks: chunks.map((chunk) => toRecord(writeNeverCopied(chunk))) })
        expect(answer).to.deep.equal(await ask(path, more))
        expect(answer).to.have.property('status', 200)
      },
    )
    await fc.assert(isSame, inRounds(ROUNDS.forwardedBodies))
  }).timeout(LONG_TIMEOUT_MS)
})

const toRecord = (json: string) => `data: ${json}\n\n`

const DURATION = 'latency_ms'
const TIMES = new Set(['created', 'created_at', 'completed_at'])

/** Parses JSON without what the clock says. */
function parseTold(json: string): unknown {
  return JSON.parse(json, (name, value) => {
    const isTime = name === DURATION || (TIMES.has(name) && value > 1e9)
    return isTime && typeof value === 'number' ? 0 : value
  })
}

function parseRecord(record: string): unknown {
  const data = /^data: ([^\n]*)$/m.exec(record)?.[1]
  return data === undefined || data === '[DONE]' ? record : parseTold(data)
}

function joinPackets(records: readonly string[], sizes: readonly number[]): string[] {
  const packets: string[] = []
  for (let start = 0; start < records.length; ) {
    const size = sizes[packets.length % sizes.length] ?? 1
    packets.push(records.slice(start, start + size).join(''))
    start += size
  }
  return packets
}
