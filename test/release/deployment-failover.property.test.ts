import { expect } from 'chai'
import type { Attributes, Requirement } from '../../core/contract/index.ts'
import { satisfies } from '../../providers/shared/attributes.ts'
import { FAULTS, type Fault, type FaultyPlaces, startFaultyPlaces } from '../support/faulty-places.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newPolicy, routingRule } from '../support/policies.ts'
import { createRandom, type Random } from '../support/random.ts'
import { IS_FULL, ROUNDS } from '../support/rounds.ts'
import { withSettings } from '../support/settings.ts'

const SEED = Number(process.env.FAILOVER_SEED ?? 20261127)
const REQUESTS = 10

/** Deployments, or providers without any, with what they state. */
const PLACES: Readonly<Record<string, Attributes>> = {
  'alpha/one': { region: 'eu-west-1', zdr: true },
  'alpha/two': { region: 'us' },
  'alpha/three': { region: 'eu' },
  'beta/one': { region: 'us', zdr: true },
  'beta/two': { region: 'eu', zdr: true },
  gamma: { region: 'eu' },
}
const NAMES = Object.keys(PLACES)
const providerOf = (place: string) => place.split('/')[0] ?? ''

/** Best first. */
const MODELS = [
  { id: 'large', provider: 'alpha' },
  { id: 'middle', provider: 'gamma' },
  { id: 'large', provider: 'beta' },
  { id: 'small', provider: 'alpha' },
].map((model, index) => ({
  ...{ ...model, context: 100_000, max_output: 1000, quality: 90 - 20 * index, latency_ms: 1000 },
  ...{ price: { input: 1, output: 1 }, capabilities: { tools: true, images: true, json: 'schema' } },
}))
const BLOCKS = MODELS.map(({ id, provider }) => `${provider}:${id}`)

const UNANSWERED: ReadonlySet<Fault> = new Set(['timeout', 'broken'])
const QUICK_FAULTS = FAULTS.filter((fault) => fault !== 'refused' && fault !== 'timeout')
const LIMITED: ReadonlySet<Fault> = new Set(['limit', 'limit_date'])

function settingsOf(places: FaultyPlaces, balance: string): Promise<Record<string, string>> {
  const row = { format: 'openai', auth: 'none', capabilities: { json: 'schema' } }
  const pool = (provider: string) => {
    const own = NAMES.filter((place) => place.startsWith(`${provider}/`))
    const deployments = own.map((place) => ({
      ...{ id: place.slice(provider.length + 1), base_url: places.urlOf(place), ...PLACES[place] },
    }))
    return { ...row, balance, deployments }
  }
  return withSettings(
    JSON.stringify({
      providers: {
        ...{ alpha: pool('alpha'), beta: pool('beta') },
        gamma: { ...row, base_url: places.urlOf('gamma'), ...PLACES.gamma },
      },
      models: MODELS,
      modes: { quality: { cost: 1, quality: 1000, latency: 1 } },
      timeouts: { first_byte_ms: 3000 },
      // Nothing that rests works again during a test.
      breaker: { min_requests: 1000, open_ms: 60_000 },
      rate_limits: { requests_per_minute: { free: null, paid: null } },
    }),
  )
}

interface Round {
  readonly requirement: Requirement | undefined
  readonly faults: Map<string, Fault>
  /** Places and models that must not be called again. */
  readonly resting: Set<string>
}

describe(`failover among deployments with random faults (seed ${SEED})`, function () {
  this.timeout(240_000)

  it('tries every deployment, then the same model elsewhere, then others, and never what is not allowed', async () => {
    const random = createRandom(SEED)
    const counts = { served: 0, refused: 0, rerouted: 0, unanswered: 0 }
    for (let round = 0; round < ROUNDS.precedence; round++) {
      const places = await startFaultyPlaces(NAMES)
      const balance = random.pick(['weighted', 'least_busy', 'latency'])
      const gateway = await startGateway({ ...(await settingsOf(places, balance)), LOG_LEVEL: 'silent' })
      await playRound(random, places, gateway, counts)
      await gateway.stop()
      places.close()
    }
    const { unanswered, ...others } = counts
    for (const [what, count] of Object.entries(others)) expect(count, what).to.be.above(0)
    // In few rounds, a request rarely meets a place that does not answer.
    if (IS_FULL) expect(unanswered, 'unanswered').to.be.above(0)
  })

  async function playRound(
    random: Random,
    places: FaultyPlaces,
    gateway: RunningGateway,
    counts: { served: number; refused: number; rerouted: number; unanswered: number },
  ): Promise<void> {
    const requirement = random.pick<Requirement | undefined>([
      ...[undefined, undefined, { region: 'eu' }, { zdr: true }, { region: 'eu', zdr: true }],
    ])
    if (requirement) await newPolicy(gateway, { routing: [routingRule({ require: requirement })] })
    const state: Round = { requirement, faults: new Map(), resting: new Set() }
    for (const place of NAMES) if (random.chance(0.1)) state.faults.set(place, 'refused')
    const slow = { request: random.integer(15), place: random.pick(NAMES) }
    for (let request = 0; request < REQUESTS; request++) {
      for (const place of NAMES) {
        const isSlow = slow.request === request && slow.place === place
        const fault = isSlow ? 'timeout' : random.chance(0.4) ? 'ok' : random.pick(QUICK_FAULTS)
        if (state.faults.get(place) !== 'refused') state.faults.set(place, fault)
        await places.set(place, state.faults.get(place) ?? fault)
      }
      const retriesOnTimeout = random.chance(0.7)
      const before = places.calls.length
      const answer = await ask(gateway, random.chance(0.5), retriesOnTimeout)
      const calls = places.calls.slice(before)
      const what = `${JSON.stringify([...state.faults])} ${JSON.stringify(calls)} ${answer.status} ${answer.text}`
      expectAllowed(state, calls, what)
      const isUnanswered = expectOutcome(state, calls, answer, retriesOnTimeout, what)
      if (isUnanswered) counts.unanswered += 1
      if (answer.status === 200) counts.served += 1
      else counts.refused += 1
      if (answer.status === 200 && calls.length > 1) counts.rerouted += 1
      for (const [place, model] of calls)
        if (LIMITED.has(faultOf(state, place))) state.resting.add(`${place}:${model}`)
    }
  }
})

const faultOf = ({ faults }: Round, place: string) => faults.get(place) ?? 'ok'

type Calls = FaultyPlaces['calls']

const blockOf = ([place, model]: Calls[number]) => `${providerOf(place)}:${model}`

/** Places where a model may be sent now. */
function freePlaces(state: Round, block: string): readonly string[] {
  const [provider, model] = block.split(':')
  return NAMES.filter(
    (place) =>
      providerOf(place) === provider &&
      satisfies(state.requirement, PLACES[place] ?? {}) &&
      faultOf(state, place) !== 'refused' &&
      !state.resting.has(`${place}:${model}`),
  )
}

function expectAllowed(state: Round, calls: Calls, what: string): void {
  const names = calls.map(([place, model]) => `${place}:${model}`)
  expect(new Set(names).size, `twice: ${what}`).to.equal(names.length)
  for (const [place] of calls)
    expect(satisfies(state.requirement, PLACES[place] ?? {}), `not allowed: ${what}`).to.equal(true)
  for (const name of names) expect(state.resting.has(name), `rests: ${name} ${what}`).to.equal(false)
  // All but the last one have failed, and every free place of a model was tried before the next model.
  const blocks = [...new Set(calls.map(blockOf))]
  expect(calls.map(blockOf), what).to.deep.equal(
    blocks.flatMap((block) => calls.map(blockOf).filter((own) => own === block)),
  )
  for (const block of blocks.slice(0, -1)) {
    const tried = calls.filter((call) => blockOf(call) === block).map(([place]) => place)
    expect(tried, `left out: ${what}`).to.have.members(freePlaces(state, block))
  }
  // The same model of another provider comes next.
  const [first, second] = blocks
  const other = first === 'alpha:large' ? 'beta:large' : first === 'beta:large' ? 'alpha:large' : undefined
  if (second !== undefined && other !== undefined && freePlaces(state, other).length > 0)
    expect(second, `order: ${what}`).to.equal(other)
}

/** Returns whether the request ended because a call was not answered. */
function expectOutcome(
  state: Round,
  calls: Calls,
  { status, code, retryAfter }: Asked,
  retriesOnTimeout: boolean,
  what: string,
): boolean {
  const last = calls.at(-1)
  for (const [place] of calls.slice(0, -1)) {
    expect(faultOf(state, place), what).to.not.equal('ok')
    if (!retriesOnTimeout) expect(UNANSWERED.has(faultOf(state, place)), what).to.equal(false)
  }
  if (last !== undefined && faultOf(state, last[0]) === 'ok') {
    expect(status, what).to.equal(200)
    return false
  }
  expect(status, what).to.be.oneOf([429, 502, 503, 504])
  if (last !== undefined && UNANSWERED.has(faultOf(state, last[0])) && !retriesOnTimeout) return true
  // Up to three models were tried; without a call, nothing may be called.
  const tried = new Set(calls.map(blockOf))
  const left = BLOCKS.filter((block) => !tried.has(block) && freePlaces(state, block).length > 0)
  if (tried.size === 0) expect(left, what).to.deep.equal([])
  if (status === 429 || status === 503) {
    expect(code, what).to.be.oneOf(['provider_rate_limited', 'no_providers_available', 'rate_limit_exceeded'])
    expect(retryAfter, what).to.be.above(0)
  }
  return false
}

interface Asked {
  readonly status: number
  readonly code: string | null
  readonly retryAfter: number
  readonly text: string
}

async function ask(gateway: RunningGateway, stream: boolean, retriesOnTimeout: boolean): Promise<Asked> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.demoKey}`,
      'content-type': 'application/json',
      'x-retry-on-timeout': String(retriesOnTimeout),
    },
    body: JSON.stringify({
      model: 'auto:quality',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 10,
      stream,
    }),
  })
  return {
    status: response.status,
    code: response.headers.get('x-error-code'),
    retryAfter: Number(response.headers.get('retry-after')),
    text: await response.text(),
  }
}
