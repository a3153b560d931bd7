import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { createRandom, type Random } from '../support/random.ts'
import { randomJson, randomPattern, randomPrompt, randomRuleBody } from '../support/random-bodies.ts'
import { ROUNDS } from '../support/rounds.ts'

/** The seed is in the test's title, so that a failure can be repeated. */
const SEED = Number(process.env.FUZZ_SEED ?? 20261120)

const rule = (more: object) => firewallRuleBody({ name: 'fuzz', pattern: undefined, ...more })

const PROMPT_PATHS = [
  ...['/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/completions', '/v1/embeddings'],
  ...['/v1/moderations', '/v1/simulate', '/v1/messages/count_tokens', '/v1/responses/compact'],
]

describe(`rules under random input (seed ${SEED})`, function () {
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
  after(async () => {
    await gateway?.stop()
    await sandbox.close()
  })

  const chat = (messages: readonly unknown[]) =>
    gateway.call('POST', '/v1/chat/completions', { model: 'gpt-4o', messages })

  it('never respond with 5xx to a rule body', async () => {
    const random = createRandom(SEED)
    for (let round = 0; round < 100 * ROUNDS.fuzz; round++) {
      const path = random.pick(['/v1/routing-rules', '/v1/firewall-rules', '/v1/rules/batch'])
      const method = random.pick(['POST', 'PATCH', 'DELETE', 'GET'])
      const target =
        method === 'POST' ? path : `${path}/${random.pick(['1', '2', '3', 'x', '%00', '9'.repeat(30)])}`
      const body = method === 'GET' || method === 'DELETE' ? undefined : randomRuleBody(random)
      const answer = await gateway.call(method, target, body)
      expect(answer.status, JSON.stringify({ method, target, body })).to.be.below(500)
      if (answer.status >= 400) expect(answer.body.error.message).to.be.a('string')
    }
    await removeRules()
  })

  it('never respond with 5xx to a prompt, whatever rules exist', async () => {
    const random = createRandom(SEED + 1)
    for (let n = 0; n < 40; n++) {
      await gateway.call(
        'POST',
        '/v1/firewall-rules',
        rule({ type: 'regex', pattern: randomPattern(random) }),
      )
    }
    for (let round = 0; round < 50 * ROUNDS.fuzz; round++) {
      const path = random.pick(PROMPT_PATHS)
      const body = random.chance(0.3) ? randomJson(random, 4) : randomPrompt(random)
      const answer = await gateway.call('POST', path, body as object)
      expect(answer.status, JSON.stringify({ path, body })).to.be.below(500)
    }
    await removeRules()
  })

  it('never send masked text to the provider', async () => {
    const random = createRandom(SEED + 2)
    const words = ['Übergröße', 'top"secret', 'line\nbreak', 'back\\slash', 'Kelvin', 'straße']
    for (const pattern of words) await gateway.call('POST', '/v1/firewall-rules', rule({ pattern }))
    await gateway.call(
      'POST',
      '/v1/firewall-rules',
      rule({ type: 'regex', pattern: '\\d{3}-\\d{4}', priority: 5 }),
    )
    for (let round = 0; round < 75 * ROUNDS.fuzz; round++) {
      const word = random.pick([...words, '555-1234'])
      const hidden = disguise(random, word)
      const { status } = await chat(wrap(random, `before ${hidden} after`))
      expect(status).to.equal(200)
      const received = JSON.stringify(decodeAll(sandbox.requests.at(-1)?.body))
      expect(received.toLowerCase(), word).not.to.contain(JSON.stringify(word).slice(1, -1).toLowerCase())
      expect(received, JSON.stringify({ word, hidden })).to.contain('[redacted]')
    }
    await removeRules()
  })

  it('always block text that a block rule matches', async () => {
    const random = createRandom(SEED + 3)
    const words = ['forbidden word', 'qu"ote', 'new\nline', 'tab\tbed', 'ИВАН']
    // A mask rule that runs first and removes the text next to the word must not hide the word.
    await gateway.call(
      'POST',
      '/v1/firewall-rules',
      rule({ pattern: 'neighbour', priority: 9, replacement: '' }),
    )
    for (const pattern of words) {
      await gateway.call('POST', '/v1/firewall-rules', rule({ pattern, action: 'block' }))
    }
    for (let round = 0; round < 75 * ROUNDS.fuzz; round++) {
      const word = random.pick(words)
      const text = random.pick([word, `neighbour${word}neighbour`, splitByMask(word)])
      const messages = wrap(random, disguise(random, text))
      const { status } = await chat(messages)
      expect(status, JSON.stringify({ word, text, messages })).to.equal(403)
    }
    await removeRules()
  })

  async function removeRules(): Promise<void> {
    for (const path of ['/v1/routing-rules', '/v1/firewall-rules']) {
      const { body } = await gateway.call('GET', path)
      for (const { id } of body.data) await gateway.call('DELETE', `${path}/${id}`)
    }
  }
})

/** Random upper and lower case, for letters whose case is the same in every locale. */
function disguise(random: Random, text: string): string {
  return [...text]
    .map((letter) => {
      const other = random.chance(0.5) ? letter.toUpperCase() : letter.toLowerCase()
      return other.length === letter.length && /^[a-zа-яöü]$/i.test(letter) ? other : letter
    })
    .join('')
}

/** The word, split by a text that the mask rule removes. */
function splitByMask(word: string): string {
  const middle = Math.floor(word.length / 2)
  return `${word.slice(0, middle)}neighbour${word.slice(middle)}`
}

/** Messages with the text at a random place: content, parts, tool calls with JSON escapes, tool results. */
function wrap(random: Random, text: string): readonly unknown[] {
  const user = { role: 'user', content: 'hello' }
  const call = (args: string) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: args } }],
  })
  const result = (content: unknown) => ({ role: 'tool', tool_call_id: 'call_1', content })
  const args = JSON.stringify({ deep: [{ q: text }] })
  return random.pick<() => readonly unknown[]>([
    () => [{ role: 'user', content: text }],
    () => [{ role: 'system', content: text }, user],
    () => [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'x' },
          { type: 'text', text },
        ],
      },
    ],
    () => [user, { role: 'assistant', content: text }, user],
    () => [user, call(args), result('ok')],
    () => [user, call(escapeAll(args)), result('ok')],
    () => [user, call('{}'), result(text)],
    () => [user, call('{}'), result([{ type: 'text', text }])],
    () => [user, call('{}'), result(JSON.stringify({ found: text }))],
  ])()
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
