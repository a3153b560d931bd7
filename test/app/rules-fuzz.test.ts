import { expect } from 'chai'
import fc from 'fast-check'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { inRounds } from '../support/property.ts'
import { ROUNDS } from '../support/rounds.ts'

const rule = (more: object) => firewallRuleBody({ name: 'fuzz', pattern: undefined, ...more })

const PROMPT_PATHS = [
  ...['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/completions', '/v1/embeddings'],
  ...['/v1/moderations', '/v1/simulate', '/v1/messages/count_tokens', '/v1/responses/compact'],
]

const LEAVES = [
  null,
  true,
  -1,
  1e308,
  'x',
  '',
  '\ud800',
  'ß'.repeat(200),
  'a\u0000b',
  0.1,
  1001,
  '{"contains":1}',
]
const KEYS = [
  ...[
    'contains',
    'role',
    'content',
    'messages',
    'mode',
    'set_model',
    'type',
    'text',
    'kind',
    'op',
    'id',
    'data',
  ],
  ...['constructor', 'toString'],
]

const json = (maxDepth: number) =>
  fc.anything({ key: fc.constantFrom(...KEYS), values: [fc.constantFrom(...LEAVES)], maxDepth, maxKeys: 3 })

const patterns = fc
  .array(fc.constantFrom(...'a.*+?()[]\\^$|/iß\n', '{2,3}', '\\d', '(?=', '(?<', '\\1', '[[:alpha:]]'), {
    minLength: 1,
    maxLength: 10,
  })
  .map((pieces) => pieces.join(''))

/** Bodies of rules and batches; most of them are invalid. */
const ruleBodies = patterns.chain((pattern) => {
  const sound = { ...firewallRuleBody({ pattern }), match_json: {}, action_json: {}, replacement: '$1' }
  const fields = Object.fromEntries(
    Object.entries(sound).map(([name, value]) => [
      name,
      fc.oneof(fc.constant(value), fc.constant(value), json(3)),
    ]),
  )
  return fc.oneof(
    fc.constantFrom('{', 'null', '[]', '"x"', '{"a":', '\u0000'),
    fc.record({ operations: fc.tuple(json(3), json(3)) }),
    fc.record(fields),
    fc.record(fields, { requiredKeys: [] }),
  )
})

const TEXTS = ['text', 'input_text', 'tool_result', 'file', 'extra_content']

/** Bodies that get further than those of other fields. */
const prompts = fc
  .record({
    role: fc.constantFrom('user', 'system', 'assistant', 'tool', 'developer'),
    content: fc.oneof(
      fc.constant('hello'),
      json(3),
      fc
        .tuple(fc.constantFrom(...TEXTS), json(2), json(2))
        .map(([type, value, content]) => [{ type, text: 'x', [type]: value, content }]),
    ),
    tools: fc.option(json(3), { nil: undefined }),
    more: fc.option(json(2), { nil: undefined }),
    isChat: fc.boolean(),
  })
  .map(({ role, content, tools, more, isChat }) => ({
    ...(isChat
      ? {
          messages: [
            { role: 'user', content: 'hello' },
            { role, content, tool_call_id: 'c' },
          ],
          max_tokens: 5,
        }
      : { input: content, prompt: content }),
    ...(tools !== undefined && { tools: [tools], rules: { firewall: [firewallRuleBody({})] } }),
    ...Object(more),
  }))

describe('rules under random input', function () {
  this.timeout(180_000 * Math.max(ROUNDS.fuzz, 1))
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 5 })
    gateway = await startGateway({
      OPENAI_API_KEY: 'key',
      OPENAI_BASE_URL: `${sandbox.url}/openai/v1`,
    })
  })
  afterEach(removeRules)
  after(async () => {
    await gateway?.stop()
    await sandbox.close()
  })

  const chat = (messages: readonly unknown[]) =>
    gateway.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })

  const addRule = (more: object) => gateway.call('POST', '/v1/firewall-rules', rule(more))

  it('never respond with 5xx to a rule body', () => {
    const paths = fc.constantFrom('/v1/routing-rules', '/v1/firewall-rules', '/v1/rules/batch')
    const ids = fc.constantFrom('1', '2', '3', 'x', '%00', '9'.repeat(30))
    const methods = fc.constantFrom('POST', 'PATCH', 'DELETE', 'GET')
    const isAnswered = async (path: string, id: string, method: string, sent: unknown) => {
      const body = method === 'GET' || method === 'DELETE' ? undefined : sent
      const answer = await gateway.call(method, method === 'POST' ? path : `${path}/${id}`, body)
      expect(answer.status).to.be.below(500)
      if (answer.status >= 400) expect(answer.body.error.message).to.be.a('string')
    }
    return fc.assert(
      fc.asyncProperty(paths, ids, methods, ruleBodies, isAnswered),
      inRounds(100 * ROUNDS.fuzz),
    )
  })

  it('never respond with 5xx to a prompt, whatever rules exist', async () => {
    for (const pattern of fc.sample(patterns, inRounds(40))) await addRule({ type: 'regex', pattern })
    const bodies = fc.oneof(json(4), prompts, prompts)
    const isAnswered = async (path: string, body: unknown) => {
      expect((await gateway.call('POST', path, body as object)).status).to.be.below(500)
    }
    const property = fc.asyncProperty(fc.constantFrom(...PROMPT_PATHS), bodies, isAnswered)
    await fc.assert(property, inRounds(50 * ROUNDS.fuzz))
  })

  it('never send masked text to the provider', async () => {
    const words = ['Übergröße', 'top"secret', 'line\nbreak', 'back\\slash', 'Kelvin', 'straße']
    for (const pattern of words) await addRule({ pattern })
    await addRule({ type: 'regex', pattern: '\\d{3}-\\d{4}', priority: 5 })
    const isMasked = async (word: string, cases: number, place: number) => {
      const { status } = await chat(wrap(place, `before ${disguise(cases, word)} after`))
      expect(status).to.equal(200)
      const received = JSON.stringify(decodeAll(sandbox.requests.at(-1)?.body))
      expect(received.toLowerCase()).not.to.contain(JSON.stringify(word).slice(1, -1).toLowerCase())
      expect(received).to.contain('[redacted]')
    }
    const property = fc.asyncProperty(fc.constantFrom(...words, '555-1234'), fc.nat(), places, isMasked)
    await fc.assert(property, inRounds(75 * ROUNDS.fuzz))
  })

  it('always block text that a block rule matches', async () => {
    const words = ['forbidden word', 'qu"ote', 'new\nline', 'tab\tbed', 'ИВАН']
    // A mask rule that runs first and removes the text next to the word must not hide the word.
    await addRule({ pattern: 'neighbour', priority: 9, replacement: '' })
    for (const pattern of words) await addRule({ pattern, action: 'block' })
    const texts = fc
      .constantFrom(...words)
      .chain((word) => fc.constantFrom(word, `neighbour${word}neighbour`, splitByMask(word)))
    const isBlocked = async (text: string, cases: number, place: number) => {
      expect((await chat(wrap(place, disguise(cases, text)))).status).to.equal(403)
    }
    await fc.assert(fc.asyncProperty(texts, fc.nat(), places, isBlocked), inRounds(75 * ROUNDS.fuzz))
  })

  async function removeRules(): Promise<void> {
    for (const path of ['/v1/routing-rules', '/v1/firewall-rules']) {
      const { body } = await gateway.call('GET', path)
      for (const { id } of body.data) await gateway.call('DELETE', `${path}/${id}`)
    }
  }
})

/** In upper case where a bit is set, for letters whose case is the same in every locale. */
function disguise(cases: number, text: string): string {
  return [...text]
    .map((letter, index) => {
      const other = (cases >> (index % 31)) & 1 ? letter.toUpperCase() : letter.toLowerCase()
      return other.length === letter.length && /^[a-zа-яöü]$/i.test(letter) ? other : letter
    })
    .join('')
}

/** The word, split by a text that the mask rule removes. */
function splitByMask(word: string): string {
  const middle = Math.floor(word.length / 2)
  return `${word.slice(0, middle)}neighbour${word.slice(middle)}`
}

const places = fc.nat(8)

/** Messages with the text at a place: content, parts, tool calls with JSON escapes, tool results. */
function wrap(place: number, text: string): readonly unknown[] {
  const user = { role: 'user', content: 'hello' }
  const call = (args: string) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: args } }],
  })
  const result = (content: unknown) => ({ role: 'tool', tool_call_id: 'call_1', content })
  const parts = ['x', text].map((each) => ({ type: 'text', text: each }))
  const args = JSON.stringify({ deep: [{ q: text }] })
  const messages = [
    [{ role: 'user', content: text }],
    [{ role: 'system', content: text }, user],
    [{ role: 'user', content: parts }],
    [user, { role: 'assistant', content: text }, user],
    [user, call(args), result('ok')],
    [user, call(escapeAll(args)), result('ok')],
    [user, call('{}'), result(text)],
    [user, call('{}'), result([{ type: 'text', text }])],
    [user, call('{}'), result(JSON.stringify({ found: text }))],
  ]
  return messages[place] ?? expect.fail(`there is no place ${place}`)
}

/** The same JSON document with every letter in its strings escaped. */
function escapeAll(json: string): string {
  return json.replace(/\\.|[A-Za-zÀ-ÿ]/g, (found) =>
    found.length > 1 ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The value as a model reads it: parses strings that are JSON documents. */
function decodeAll(value: unknown): unknown {
  if (typeof value === 'string' && /^\s*[[{]/.test(value)) {
    try {
      return decodeAll(JSON.parse(value))
    } catch {
      return value
    }
  }
  if (Array.isArray(value)) return value.map(decodeAll)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, decodeAll(field)]))
}
