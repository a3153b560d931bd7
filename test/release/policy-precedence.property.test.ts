import { randomBytes } from 'node:crypto'
import { expect } from 'chai'
import type { ChatRequest } from '../../core/contract/index.ts'
import { inspectedValues, joinAdjacentTexts } from '../../core/inspection/request-texts.ts'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { DIALECTS, readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { asAdmin, firewallRule, newPolicy } from '../support/policies.ts'
import { providersAt } from '../support/providers.ts'
import { createRandom, type Random } from '../support/random.ts'
import { ROUNDS } from '../support/rounds.ts'
import { UNLIMITED } from '../support/settings.ts'
import { writeSettings } from '../support/settings-file.ts'
import { receivedText } from '../support/streams.ts'

const SEED = Number(process.env.PRECEDENCE_SEED ?? 20261126)
const REQUESTS = 12

/** No name of a field has one of these letters, so only what the test says can match. */
const LETTERS = ['q', 'z', '7']

interface Rule {
  readonly scope: 'prompt' | 'response'
  readonly type: 'substring' | 'regex'
  readonly pattern: string
  readonly action: 'block' | 'mask' | 'warn'
  readonly replacement: string
}

interface Case {
  readonly user: TestUser
  /** The rules of the policies that apply to the user. */
  readonly policies: readonly Rule[]
}

function text(random: Random, length: number): string {
  return Array.from({ length }, () => random.pick(LETTERS)).join('')
}

function randomRule(random: Random, actions: readonly Rule['action'][], length: number): Rule {
  const isRegex = random.chance(0.3)
  return {
    scope: random.pick(['prompt', 'prompt', 'response'] as const),
    type: isRegex ? 'regex' : 'substring',
    pattern: isRegex
      ? random.pick(['7{2,}', 'q+z', BEHIND_Q, 'z(?!7)[qz]z', '^7q|qz$', 'q.q', '7(q?)7', '(z)q|q(7)'])
      : text(random, length),
    action: random.pick(actions),
    replacement: random.pick([
      '',
      '*',
      '[gone]',
      ...(isRegex ? ['$1', '$2'] : []),
      text(random, 1),
      text(random, 1),
      text(random, 2),
    ]),
  }
}

/** What masks of users replace, so that they write and put together what policies forbid. */
const MARKS = ['~', '#']

function randomOwnRule(random: Random, policies: readonly Rule[]): Rule {
  const rule = randomRule(random, ['mask', 'mask', 'mask', 'warn', 'block'], 1 + random.integer(2))
  if (random.chance(0.2)) return rule
  const { pattern } = random.pick(policies)
  const replacement = random.pick(['', '', pattern.slice(1), pattern.slice(0, 1), text(random, 1)])
  return { ...rule, type: 'substring', pattern: random.pick(MARKS), action: 'mask', replacement }
}

/** A prompt in which patterns of the policies are divided by a mark, or end with one. */
function randomPrompt(random: Random, policies: readonly Rule[]): string {
  const pieces = Array.from({ length: 1 + random.integer(4) }, () => {
    const { pattern } = random.pick(policies)
    const mark = random.pick(MARKS)
    return random.pick([
      text(random, 1),
      text(random, 2),
      mark,
      `${pattern.slice(0, 1)}${mark}${pattern.slice(1)}`,
      `${pattern.slice(0, 1)}${mark}`,
    ])
  })
  return pieces.join('')
}

const BEHIND_Q = '(?<=q)7'

/** A mask whose replacement holds its own match leaves it there, which the check below does not know. */
function randomPolicyRule(random: Random): Rule {
  const rule = randomRule(random, ['block', 'mask', 'mask', 'warn'], 2 + random.integer(2))
  const written = `${rule.pattern === BEHIND_Q ? 'q' : ''}${rule.replacement}`
  return finds(rule, written) ? randomPolicyRule(random) : rule
}

const finds = ({ type, pattern }: Rule, searched: string) =>
  type === 'substring' ? searched.includes(pattern) : new RegExp(pattern).test(searched)

/** Everything that must not match: each text, and those that models read as one. */
async function textsOf(request: ChatRequest): Promise<readonly string[]> {
  return [...(await inspectedValues(request)), ...joinAdjacentTexts(request)]
}

describe(`what is sent under random policies and rules (seed ${SEED})`, function () {
  this.timeout(1_800_000)
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 1 })
    const settings = 'ledger: { record_prompts: full }\nfirewall: { evaluate_responses: true }\n'
    const CONFIG = await writeSettings(`${UNLIMITED}${settings}`)
    const RECORD_KEY = randomBytes(32).toString('base64')
    gateway = await startGateway({ ...providersAt(sandbox), CONFIG, RECORD_KEY, LOG_LEVEL: 'silent' })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  async function createCase(random: Random): Promise<Case> {
    const user = await newUser(gateway)
    const policies: Rule[] = []
    for (let priority = 1 + random.integer(2); priority > 0; priority--) {
      const rules = Array.from({ length: 1 + random.integer(2) }, () => randomPolicyRule(random))
      policies.push(...rules)
      const firewall = rules.map((rule) => firewallRule({ ...rule, priority: random.integer(3) }))
      await newPolicy(gateway, { priority, applies_to: { users: [user.id] }, firewall })
    }
    for (let left = 1 + random.integer(3); left > 0; left--) {
      const rule = randomOwnRule(random, policies)
      await user.call('POST', '/v1/firewall-rules', firewallRule({ ...rule, priority: random.integer(3) }))
    }
    return { user, policies }
  }

  const counts = { sent: 0, refused: 0, masked: 0, afterMasks: 0, streams: 0, repliesRefused: 0 }

  async function ask({ user, policies }: Case, random: Random, seed: number): Promise<void> {
    const where = `seed ${seed}, user ${user.id}`
    const name = random.pick(Object.keys(DIALECTS) as (keyof typeof DIALECTS)[])
    const dialect = DIALECTS[name]
    const content = randomPrompt(random, policies)
    const parts = random.chance(0.3)
      ? [content, randomPrompt(random, policies)].map((each) => ({ type: 'text', text: each }))
      : content
    const isChat = name === 'chat completions'
    const body = {
      ...dialect.body('gpt-4o', content),
      ...(isChat && { messages: [{ role: 'user', content: parts }] }),
    }
    const stream = dialect.streams && random.chance(0.5)
    const endpoint = isChat ? 'chat' : name
    const simulated = (await user.call('POST', '/v1/simulate', { endpoint, ...body })).body.data
    const before = sandbox.requests.at(-1)
    const response = await fetch(dialect.url(gateway), {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ...(stream && { stream }) }),
    })
    const received = await receivedText(response)
    const last = sandbox.requests.at(-1)
    const isSent = last !== before
    expect(isSent, `${where}: ${JSON.stringify(simulated)}`).to.equal(simulated.outcome === 'allowed')
    if (simulated.rule_trace.some(({ reason }: { reason?: string }) => reason === 'after_masks'))
      counts.afterMasks++
    if (!isSent) {
      expect(response.status, where).to.equal(403)
      counts.refused++
      return
    }
    counts.sent++
    const provided = last?.body as ChatRequest
    expect(provided.messages, where).to.deep.equal(simulated.request.messages)
    const texts = await textsOf(provided)
    for (const rule of policies.filter(({ scope, action }) => scope === 'prompt' && action !== 'warn'))
      for (const each of texts)
        expect(finds(rule, each), `${where}: ${rule.pattern} in "${each}"`).to.equal(false)
    if (!texts.includes(content)) counts.masked++
    checkReply(received, stream, response.status)

    function checkReply(answer: string, isStream: boolean, status: number): void {
      if (isStream) counts.streams++
      if (status === 403) counts.repliesRefused++
      if (status !== 200) return
      const reply = isStream
        ? readRecords(answer).map(dialect.deltaOf).join('')
        : dialect.textOf(JSON.parse(answer))
      for (const rule of policies.filter(({ scope, action }) => scope === 'response' && action !== 'warn'))
        expect(finds(rule, reply), `${where}: ${rule.pattern} in the reply "${reply}"`).to.equal(false)
    }
  }

  it('holds what the policies forbid, as simulations and what-if say', async () => {
    for (let round = 0; round < ROUNDS.precedence; round++) {
      const seed = SEED + round
      const random = createRandom(seed)
      const made = await createCase(random)
      for (let request = 0; request < REQUESTS; request++) await ask(made, random, seed)
    }
    expect(Math.min(...Object.values(counts)), JSON.stringify(counts)).to.be.above(ROUNDS.precedence / 10)
    const { status, body } = await asAdmin(gateway, 'POST', '/admin/what-if', { file: {} })
    expect(status, JSON.stringify(body)).to.equal(200)
    const { evaluated, reproduced, not_evaluated } = body.data
    expect(not_evaluated).to.deep.equal([])
    // It takes the newest thousand.
    expect(evaluated).to.equal(Math.min(ROUNDS.precedence * REQUESTS, 1000))
    expect(reproduced).to.deep.equal({ same: evaluated, different: 0, explained: [] })
  })
})
