import {
  type EndedExchange,
  GatewayError,
  type ReplyingExchange,
  type Requirement,
  SharedStateUnavailableError,
  service,
  type Target,
  type Usage,
} from '../../core/contract/index.ts'
import { retryAdvice, toRetryAfterSeconds } from '../../core/http/error-words.ts'
import { providerUseOf } from '../../core/pipeline/usage-recorder.ts'
import type { HeldReservations, HeldResult, Hold } from '../../core/shared-state/held-reservations.ts'
import type { ReservationEntry } from '../../core/shared-state/reservations.ts'
import { maxReplyTokens, PromptTokens, promptTokensOf } from '../../core/tokens/prompt-tokens.ts'
import { meetsRequirement, requirementError } from '../../providers/shared/attributes.ts'
import type { CircuitBreakers } from '../../providers/shared/circuit.ts'
import type { Deployment, DeploymentPool } from '../../providers/shared/deployments.ts'
import type { Provider } from '../../providers/shared/providers.ts'

/** Chooses the deployments that requests are sent to (docs/guides/deployments.md). */
export interface Deployments {
  /** Undefined for a provider without deployments. */
  poolOf(target: Target): DeploymentPool | undefined
  /** Takes a place at the best deployment; returns the error that says why there is none. */
  take(exchange: ReplyingExchange, target: Target, choice: DeploymentChoice): Promise<Place | GatewayError>
}

export const Deployments = service<Deployments>('dispatch.deployments')

export interface DeploymentChoice {
  readonly pool: DeploymentPool
  /** The deployment to try first. */
  readonly first: string | undefined
  /** Whether deployments that have failed are tried again. */
  readonly isRepeated: boolean
  /** Whether to wait briefly for a place that another request is about to leave. */
  mayWait(): boolean
}

export interface DeploymentServices {
  readonly providers: ReadonlyMap<string, Provider>
  readonly circuitBreakers: Pick<CircuitBreakers, 'rest'>
  /** Undefined if no deployment has a limit. */
  readonly reservations: Pick<HeldReservations, 'reserve'> | undefined
  /** Whether a request is sent although it cannot be counted. */
  isSentUncounted(exchange: ReplyingExchange): boolean
}

export function createDeployments(services: DeploymentServices): Deployments {
  return {
    poolOf: ({ provider }) => services.providers.get(provider)?.deployments,
    async take(exchange, target, choice) {
      const found = await takeBest(exchange, target, choice, services)
      return found instanceof Search ? found.toError(target) : found
    },
  }
}

/** See `USAGE_WAIT_MS` of the limits of users. */
const WAIT_MS = 100

async function takeBest(
  exchange: ReplyingExchange,
  target: Target,
  choice: DeploymentChoice,
  services: DeploymentServices,
): Promise<Place | Search> {
  const { pool, first, mayWait, isRepeated } = choice
  const { requires } = exchange
  const search = new Search(requires)
  const provider = services.providers.get(target.provider)
  const wasTried = (own: Target) => exchange.attempts.some((attempt) => attempt.target === own)
  const admissible = pool.members.filter(
    (deployment) =>
      meetsRequirement(requires, deployment.at(target), provider) &&
      (isRepeated || !wasTried(deployment.at(target))),
  )
  const tokens = pool.countsTokens ? estimateTokens(exchange, target) : 0
  const take = (deployment: Deployment, waitMs: number) =>
    takePlace(new Place(deployment, deployment.at(target), tokens), exchange, waitMs, services)
  const groups = groupByRest(exchange, target, admissible, search, wasTried, services)
  const busy: Deployment[] = []
  for (let group of groups) {
    while (group.length > 0) {
      const chosen = group.find(({ id }) => id === first) ?? pool.choose(group, target)
      if (chosen === undefined) break
      group = group.filter((deployment) => deployment !== chosen)
      const taken = await take(chosen, 0)
      if (taken instanceof Place) return taken
      search.add(taken)
      if (taken.isTemporary) busy.push(chosen)
    }
  }
  const [next] = busy
  if (next === undefined || !mayWait()) return search
  const taken = await take(next, WAIT_MS)
  return taken instanceof Place ? taken : search
}

/**
 * The deployments to try: those that work, then those where a request of the caller has failed. The retry of
 * a failed request passes an open circuit, and has already waited for the end of a rate limit.
 */
function groupByRest(
  { account }: ReplyingExchange,
  target: Target,
  deployments: readonly Deployment[],
  search: Search,
  wasTried: (own: Target) => boolean,
  { circuitBreakers }: DeploymentServices,
): readonly (readonly Deployment[])[] {
  const working: Deployment[] = []
  const failed: Deployment[] = []
  for (const deployment of deployments) {
    const own = deployment.at(target)
    const { circuitMs, rateLimitMs, failureMs } = circuitBreakers.rest(own, account.userId)
    if (wasTried(own)) failed.push(deployment)
    else if (circuitMs > 0) search.add({ reason: 'unavailable', waitMs: circuitMs })
    else if (rateLimitMs > 0) search.add({ reason: 'limit', waitMs: rateLimitMs })
    else if (failureMs > 0) failed.push(deployment)
    else working.push(deployment)
  }
  return [working, failed]
}

/** Why a deployment gets no request, and when it may. */
interface Refusal {
  readonly reason: 'limit' | 'unavailable' | 'too_large'
  readonly waitMs: number
  /** Only requests in flight prevent it. */
  readonly isTemporary?: boolean
}

/** A search without success. */
class Search {
  readonly #refusals: Refusal[] = []
  readonly #requires: Requirement | undefined

  constructor(requires: Requirement | undefined) {
    this.#requires = requires
  }

  add(refusal: Refusal): void {
    this.#refusals.push(refusal)
  }

  toError({ provider, model }: Target): GatewayError {
    if (this.#refusals.length === 0 && this.#requires !== undefined)
      return requirementError(`No deployment of ${provider} for ${model} meets`, this.#requires)
    const waits = this.#refusals.filter(({ reason }) => reason !== 'too_large').map(({ waitMs }) => waitMs)
    if (waits.length === 0 && this.#refusals.length > 0) {
      const message =
        `The request may use more tokens than any deployment of ${provider} for ${model} admits per ` +
        'minute. Set max_tokens, or send a shorter prompt.'
      return new GatewayError('provider_rate_limited', message).withHeader('x-should-retry', 'false')
    }
    const retryAfter = waits.length === 0 ? 1 : toRetryAfterSeconds(Math.min(...waits))
    const isLimited = this.#refusals.some(({ reason }) => reason === 'limit')
    const message =
      `Every deployment of ${provider} for ${model} is ${isLimited ? 'at its limit' : 'unavailable'}. ` +
      retryAdvice(retryAfter)
    return new GatewayError(isLimited ? 'provider_rate_limited' : 'model_unavailable', message, {
      retryAfter,
    })
  }
}

const WINDOW_MS = 60_000

const REQUESTS = 'requests'

/** Reserves what a call may use; returns why that is refused. */
async function takePlace(
  place: Place,
  exchange: ReplyingExchange,
  waitMs: number,
  { reservations, isSentUncounted }: DeploymentServices,
): Promise<Place | Refusal> {
  // Counted before the answer: requests that come meanwhile are sent elsewhere.
  place.begin()
  const entries = place.listEntries()
  if (reservations === undefined || entries.length === 0) return place
  const { client } = exchange
  let result: HeldResult
  try {
    result = await reservations.reserve(entries, { waitMs, client, remembered: 'window' })
  } catch (error) {
    if (SharedStateUnavailableError.isInstance(error) && isSentUncounted(exchange)) return place
    place.end('nothing')
    if (!SharedStateUnavailableError.isInstance(error)) throw error
    return { reason: 'unavailable', waitMs: 1000 }
  }
  if (result.hold !== undefined) {
    place.hold = result.hold
    return place
  }
  place.end('nothing')
  const refusing = entries[result.refusedBy]
  const { amount = 0, limit } = refusing ?? {}
  if (limit != null && amount > limit) return { reason: 'too_large', waitMs: 0 }
  const resetMs = result.counters[result.refusedBy]?.resetMs ?? 0
  // A request counts until the minute is over, whatever becomes of those in flight.
  const isTemporary = result.isTemporary && !refusing?.key.startsWith(REQUESTS)
  return { reason: 'limit', waitMs: isTemporary ? 1000 : resetMs, isTemporary }
}

/** A place of one call at a deployment. */
export class Place {
  readonly deployment: Deployment
  readonly target: Target
  hold: Hold | undefined
  readonly #tokens: number
  #hasEnded = false

  constructor(deployment: Deployment, target: Target, tokens: number) {
    this.deployment = deployment
    this.target = target
    this.#tokens = tokens
  }

  begin(): void {
    this.deployment.requestsInFlight += 1
    this.deployment.tokensInFlight += this.#tokens
  }

  /** The order is that of `end`. */
  listEntries(): readonly ReservationEntry[] {
    const { requests_per_minute, tokens_per_minute, max_concurrent } = this.deployment.options
    const key = `${this.target.provider}/${this.deployment.id}`
    const entries: ReservationEntry[] = []
    const add = (kind: string, amount: number, limit: number | undefined, windowMs: number | null) => {
      if (limit !== undefined) entries.push({ key: `${kind}-${key}`, amount, limit, windowMs, initial: 0 })
    }
    add(REQUESTS, 1, requests_per_minute, WINDOW_MS)
    add('tokens', this.#tokens, tokens_per_minute, WINDOW_MS)
    add('slots', 1, max_concurrent, null)
    return entries
  }

  /** The call has ended with an error. */
  fail(error: unknown): void {
    const isCalled = !GatewayError.isInstance(error) || error.details.executed !== undefined
    const isSent = !GatewayError.isInstance(error) || error.code !== 'model_unavailable'
    this.end(isCalled ? 'unknown' : 'nothing', isSent)
  }

  /** The reply of the exchange has ended. */
  endWith(exchange: EndedExchange): void {
    this.end(providerUseOf(exchange))
  }

  /** Ends the call with the tokens that it used. Does nothing the second time. */
  end(use: 'nothing' | 'unknown' | Pick<Usage, 'input' | 'output'>, isSent = true): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.deployment.requestsInFlight -= 1
    this.deployment.tokensInFlight -= this.#tokens
    if (this.hold === undefined) return
    const { requests_per_minute, tokens_per_minute, max_concurrent } = this.deployment.options
    const tokens = typeof use === 'object' ? use.input + use.output : use === 'unknown' ? this.#tokens : 0
    this.hold.settle([
      ...(requests_per_minute === undefined ? [] : [isSent ? 1 : 0]),
      ...(tokens_per_minute === undefined ? [] : [tokens]),
      ...(max_concurrent === undefined ? [] : [0]),
    ])
  }
}

/** The prompt and the longest reply. */
function estimateTokens({ request, operation }: ReplyingExchange, target: Target): number {
  const prompt = promptTokensOf(new PromptTokens(request, operation), request, target, operation)
  return prompt + maxReplyTokens(request, target.entry, operation)
}
