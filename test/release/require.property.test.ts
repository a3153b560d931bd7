import { expect } from 'chai'
import type { Attributes, Requirement } from '../../core/contract/index.ts'
import { satisfies } from '../../providers/shared/attributes.ts'
import {
  type AttributedProviders,
  MODEL_ATTRIBUTES,
  PROVIDER_IDS,
  STATED,
  startAttributedProviders,
} from '../support/attributed-providers.ts'
import { type Answer, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { newPolicy, routingRule } from '../support/policies.ts'
import { createRandom, type Random } from '../support/random.ts'
import { ROUNDS } from '../support/rounds.ts'
import { withSettings } from '../support/settings.ts'

const SEED = Number(process.env.REQUIRE_SEED ?? 20261127)
const REQUESTS = 12
const WORDS = ['rail', 'signal', 'points']
const CHAT_MODELS = Object.keys(MODEL_ATTRIBUTES).filter((id) => !id.endsWith('-embed'))

interface Rule {
  readonly word: string | undefined
  readonly requires: Requirement | undefined
  readonly body: object
}

function randomRequirement(random: Random): Requirement {
  return random.pick<Requirement>([
    { region: 'eu' },
    { region: 'eu', zdr: true },
    { region: 'us' },
    { zdr: true },
    { retention_days: 30 },
    { retention_days: 0, region: 'us' },
    { trains_on_data: false },
    { region: 'europe-west4' },
  ])
}

function randomRule(random: Random): Rule {
  const requires = random.chance(0.4) ? randomRequirement(random) : undefined
  const word = random.chance(0.5) ? random.pick(WORDS) : undefined
  const model = () => random.pick(CHAT_MODELS)
  const [one, other] = [model(), model()]
  const action = {
    ...(requires && { require: requires }),
    ...(random.chance(0.15) && { set_model: model() }),
    ...(random.chance(0.15) && { set_provider: random.pick(PROVIDER_IDS) }),
    ...(random.chance(0.2) && { set_mode: random.pick(['cost', 'quality', 'latency']) }),
    ...(random.chance(0.3) && { shadow: { model: model(), sample: 1 } }),
    ...(random.chance(0.15) &&
      one !== other && { split: [one, other].map((arm, weight) => ({ model: arm, weight: weight + 1 })) }),
  }
  const match = word === undefined ? {} : { contains: word }
  const more = { match_json: match, priority: random.integer(5) - 2 }
  return { word, requires, body: routingRule(action, more) }
}

/** Sends a request with this text to a random endpoint. */
function send(random: Random, user: TestUser, text: string): Promise<Answer> {
  const name = random.pick(['auto', 'auto:cost', 'auto:quality', ...CHAT_MODELS, 'gamma/new', 'alpha/new'])
  const messages = [{ role: 'user', content: text }]
  const calls = [
    () => user.call('POST', '/v1/chat/completions', { model: name, messages }),
    () => user.call('POST', '/v1/messages', { model: name, messages, max_tokens: 100 }),
    () => user.call('POST', '/v1/responses', { model: name, input: text }),
    () => user.call('POST', '/v1/completions', { model: name, prompt: text }),
    () => user.route({ prompt: text, model_preferences: [random.pick(CHAT_MODELS)] }),
    () => {
      const model = random.pick(['auto', 'alpha-embed', 'gamma-embed'])
      return user.call('POST', '/v1/embeddings', { model, input: text, dimensions: 2 })
    },
  ]
  return random.pick(calls)()
}

describe(`the action require with random rules and failovers (seed ${SEED})`, function () {
  this.timeout(120_000)
  let providers: AttributedProviders
  let gateway: RunningGateway

  before(async () => {
    providers = await startAttributedProviders()
    gateway = await startGateway({ ...(await withSettings(providers.settings)), LOG_LEVEL: 'silent' })
  })
  after(() => providers.close())

  it('never calls a target without the attributes, for no endpoint, copy or failover', async () => {
    const random = createRandom(SEED)
    /** What the rules require of each request, by a word of its text. */
    const required = new Map<string, readonly Requirement[]>()
    const counts = { answered: 0, refused: 0, failovers: 0 }
    for (let round = 0; round < 2 * ROUNDS.precedence; round++) {
      const user = await newUser(gateway)
      const ofPolicy = Array.from({ length: random.integer(3) }, () => randomRule(random))
      const own = Array.from({ length: random.integer(5) }, () => randomRule(random))
      const policy = await newPolicy(gateway, {
        applies_to: { users: [user.id] },
        routing: ofPolicy.map(({ body }) => body),
      })
      const rules = [...ofPolicy]
      for (const rule of own) {
        const { status } = await user.call('POST', '/v1/routing-rules', rule.body)
        // A rule without an action is refused.
        if (status === 201) rules.push(rule)
      }
      for (let request = 0; request < REQUESTS; request++) {
        for (const id of PROVIDER_IDS) providers.answer(id, random.pick([200, 200, 500, 429, 404]))
        const id = `case-${round}-${request}-end`
        const words = WORDS.filter(() => random.chance(0.4))
        const matching = rules.filter(({ word }) => word === undefined || words.includes(word))
        const requirements = matching.flatMap(({ requires }) => (requires ? [requires] : []))
        required.set(id, requirements)
        const before = providers.calls.length
        const { status, headers } = await send(random, user, [id, ...words].join(' '))
        if (status === 200) counts.answered += 1
        if (headers.get('x-error-code') === 'no_providers_available') counts.refused += 1
        if (status === 200 && providers.calls.length > before + 1) counts.failovers += 1
      }
      await policy.remove()
    }
    // Waits for copies.
    await gateway.stop()
    for (const { provider, model, text } of providers.calls) {
      const requirements = required.get(/case-[\d-]+-end/.exec(text)?.[0] ?? '')
      const attributes: Attributes = MODEL_ATTRIBUTES[model] ?? STATED[provider]
      expect(requirements, text).to.not.equal(undefined)
      for (const requirement of requirements ?? [])
        expect(satisfies(requirement, attributes), `${model}: ${JSON.stringify(requirement)}`).to.equal(true)
    }
    expect(counts.answered).to.be.above(10)
    expect(counts.refused).to.be.above(10)
    expect(counts.failovers).to.be.above(0)
  })
})
