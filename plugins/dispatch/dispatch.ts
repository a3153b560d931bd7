import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Attempt,
  type ChatRequest,
  type ClientConnection,
  type EndedExchange,
  GatewayError,
  type Reply,
  type ReplyingExchange,
  type ReplyPart,
  type Requirement,
  type Route,
  type Target,
  type Usage,
} from '../../core/contract/index.ts'
import { whileWaiting } from '../../core/util/while-waiting.ts'
import { checkModelAllowed } from '../../providers/shared/allowed-models.ts'
import { describeRequirement, meetsRequirement, requirementError } from '../../providers/shared/attributes.ts'
import { limitRequest } from '../../providers/shared/catalog.ts'
import type { CircuitBreakers } from '../../providers/shared/circuit.ts'
import type { Deviations, SentRequest } from '../../providers/shared/client.ts'
import type { DeploymentPool } from '../../providers/shared/deployments.ts'
import type { LatencyTracker } from '../../providers/shared/latency.ts'
import { joinLists } from '../../providers/shared/prepare-request.ts'
import type { Provider } from '../../providers/shared/providers.ts'
import type { DeploymentChoice, Deployments, Place } from './deployments.ts'

/** Sends the request of an exchange to a target. Rejects with a `GatewayError`. */
type CallProvider = (
  exchange: ReplyingExchange,
  target: Target,
  place: Place | undefined,
  startedAt: number,
) => Promise<Reply>

export interface DispatchServices {
  readonly providers: ReadonlyMap<string, Provider>
  readonly circuitBreakers: Pick<CircuitBreakers, 'enter'>
  readonly latency: Omit<LatencyTracker, 'estimateMs'>
}

export function createCallProvider(services: DispatchServices): CallProvider {
  const { providers, circuitBreakers, latency } = services
  return async (exchange, target, place, startedAt) => {
    const provider = findProvider(providers, target.provider)
    // Without a place, it is the first deployment's client.
    const first = place ? undefined : provider.deployments?.members[0]
    checkRequirement(exchange, first?.at(target) ?? target, provider)
    const { capabilities } = provider
    const { client } = place?.deployment ?? provider
    const { request, omitted } = limitRequest(withSentDefaults(exchange, target), capabilities)
    const by = { caller: exchange.account.userId, isRetry: wasSent(exchange, target) }
    const guarded = circuitBreakers.enter(target, by)
    let sent: SentRequest
    try {
      sent = await client.send(request, target, exchange.client, {
        operation: exchange.operation,
        headers: exchange.headersOfCall?.(target),
      })
    } catch (error) {
      guarded.fail(error)
      throw error
    }
    guarded.succeed()
    const repliedAt = performance.now()

    exchange.target = target
    addParameterWarnings(exchange, target, joinLists(omitted, sent.omitted), sent.changed)
    place?.deployment.markMeasured(target)
    const own = place?.deployment.latency
    if (sent.reply.type === 'stream') {
      latency.recordFirstEvent(target, repliedAt - startedAt)
      own?.recordFirstEvent(target, repliedAt - startedAt)
      const ended: EndedExchange = exchange
      exchange.client.onClose(() => {
        // The usage of a stream that broke off is partial, or an estimate.
        const outputTokens = ended.finishReason === undefined ? 0 : (ended.usage?.output ?? 0)
        latency.recordRemainder(target, outputTokens, performance.now() - repliedAt)
        own?.recordRemainder(target, outputTokens, performance.now() - repliedAt)
        place?.endWith(ended)
      })
    } else {
      const usage = usageOf(sent.reply.event.parts)
      latency.recordWholeReply(target, usage?.output ?? 0, repliedAt - startedAt)
      own?.recordWholeReply(target, usage?.output ?? 0, repliedAt - startedAt)
      place?.end(usage ?? 'unknown')
    }
    return sent.reply
  }
}

/** Adds the temperature of the endpoint, unless the model or a `top_p` of the caller excludes one. */
function withSentDefaults({ request, sentDefaults }: ReplyingExchange, { entry }: Target): ChatRequest {
  if (sentDefaults === undefined || entry?.sampling !== true) return request
  return request.temperature == null && request.top_p == null ? { ...request, ...sentDefaults } : request
}

function wasSent({ attempts }: ReplyingExchange, target: Target): boolean {
  if (attempts.length === 0) return false
  return attempts.some((attempt) => attempt.target === target && attempt.outcome !== 'model_unavailable')
}

function usageOf(parts: readonly ReplyPart[]): Usage | undefined {
  return parts.findLast((part) => part.type === 'usage')?.usage
}

/** Whatever has chosen the target. */
function checkRequirement({ requires }: ReplyingExchange, target: Target, provider: Provider): void {
  if (requires === undefined || meetsRequirement(requires, target, provider)) return
  throw requirementError(`${target.provider}/${target.model} does not meet`, requires)
}

/**
 * Returns the route without targets that do not meet the requirement of the request. Only routes that another
 * plugin than `routing` has set can have some. Throws 503 if none is left.
 */
export function restrictRoute(
  route: Route,
  requires: Requirement | undefined,
  providers: ReadonlyMap<string, Provider>,
): Route {
  if (requires === undefined) return route
  const isMet = (target: Target) => meetsRequirement(requires, target, providers.get(target.provider))
  if (route.targets.every(isMet)) return route
  const [first, ...others] = route.targets.filter(isMet)
  if (first === undefined) throw requirementError('No model of the route of this request meets', requires)
  const bestTargets = route.targets.slice(0, route.bestTargets).filter(isMet).length
  return { ...route, targets: [first, ...others], bestTargets }
}

function findProvider(providers: ReadonlyMap<string, Provider>, id: string): Provider {
  const provider = providers.get(id)
  if (provider !== undefined) return provider
  throw new GatewayError('no_providers_available', `Provider ${id} is not configured.`)
}

/**
 * The maximum number of provider calls for one request, including the first (docs/guides/failover.md,
 * "Failover").
 */
const MAX_ATTEMPTS = 3

/** The maximum number of calls if the model is fixed. */
const MAX_FIXED_ATTEMPTS = 2

/**
 * Returns the next target to try; undefined when there are no more attempts. Targets that honour the
 * parameters of the request best come first, among these the model that has failed at another provider, and
 * then those of providers that have not been tried.
 */
function nextTarget({ isFixed, targets, bestTargets }: Route, tried: readonly Target[]): Target | undefined {
  if (isFixed) return tried.length < MAX_FIXED_ATTEMPTS ? targets[0] : undefined
  if (tried.length === MAX_ATTEMPTS) return undefined
  const best = targets.slice(0, bestTargets).filter((target) => !tried.includes(target))
  const untried = best.length > 0 ? best : targets.filter((target) => !tried.includes(target))
  const last = tried.at(-1)
  return (
    (last && untried.find(({ model }) => model === last.model)) ??
    untried.find(({ provider }) => !tried.some((target) => target.provider === provider)) ??
    untried[0]
  )
}

/** Returns every target that a request may be sent to, the first one first. */
export function targetsToTry(route: Route): readonly Target[] {
  if (route.isFixed) return [route.targets[0]]
  const tried: Target[] = []
  for (let target = nextTarget(route, tried); target !== undefined; target = nextTarget(route, tried))
    tried.push(target)
  return tried
}

const DEFAULT_RETRY_DELAY_MS = 100

/** A fixed model is not retried if its provider asks for a longer delay. */
const MAX_RETRY_DELAY_MS = 2000

/**
 * Sends the request to the targets of the route until one replies. A call to a provider resolves before
 * anything of its reply is sent to the client: a stream is only returned once its first event has arrived.
 * Throws the error for the client if every attempt failed, or the last one may have been executed and
 * `retriesOnTimeout` is false; it tells clients not to retry. Every free deployment of a target is tried
 * before the next target.
 */
export async function dispatchExchange(
  exchange: ReplyingExchange,
  route: Route,
  callProvider: CallProvider,
  retriesOnTimeout = false,
  deployments?: Deployments,
): Promise<Reply> {
  const errors: GatewayError[] = []
  const tried: Target[] = []
  let remaining = route
  let target = nextTarget(remaining, tried)
  while (target !== undefined) {
    // Also for routes that another plugin has set.
    checkModelAllowed(exchange.account, target)
    const pool = deployments?.poolOf(target)
    const choice = pool && choiceAt(pool, target, route, tried)
    const place = choice && (await deployments?.take(exchange, target, choice))
    if (GatewayError.isInstance(place)) {
      const [only] = errors
      // The errors of its deployments say more.
      if (!wasTried(exchange, target)) errors.push(place)
      else if (route.isFixed && errors.length === 1 && only?.mayFailOver && !choice?.isRepeated) {
        await waitForRetry(only, exchange.client)
        tried.push(target)
        continue
      }
      if (route.isFixed) break
      tried.push(target)
      target = nextTarget(remaining, tried)
      continue
    }
    const sent = place?.target ?? target
    const startedAt = performance.now()
    let error: GatewayError
    try {
      const reply = await callProvider(exchange, sent, place, startedAt)
      recordAttempt(exchange, sent, startedAt, 'ok')
      return reply
    } catch (thrown) {
      place?.fail(thrown)
      recordFailure(exchange, sent, startedAt, thrown)
      if (!GatewayError.isInstance(thrown)) throw thrown
      error = thrown
    }
    errors.push(error)
    const isUnanswered = error.details.executed === 'maybe' && !retriesOnTimeout
    const triesDeployments = choice?.isRepeated === false && canTryNextDeployment(error)
    if (isUnanswered || !(triesDeployments || canTryNextTarget(error, route)))
      throw error.status >= 500 ? forbidRetry(error) : error
    if (triesDeployments) continue
    tried.push(target)
    if (error.code === 'context_length_exceeded') remaining = withLargerContext(remaining, target)
    if (route.isFixed && errors.length === 1) await waitForRetry(error, exchange.client)
    target = nextTarget(remaining, tried)
  }
  throw finalError(errors, route, exchange.requires)
}

/**
 * The error after every attempt failed. An open circuit is no attempt: clients may retry later. They may also
 * wait for the end of a rate limit.
 */
function finalError(
  errors: readonly GatewayError[],
  { isFixed }: Route,
  requires: Requirement | undefined,
): GatewayError {
  const last = errors.at(-1)
  const tooLong = errors.find(({ code }) => code === 'context_length_exceeded')
  if (tooLong !== undefined) return tooLong
  const error = isFixed && last !== undefined ? last : summarizeErrors(errors, requires)
  return errors.every(isUnavailable) || saysWhenToRetry(error) ? error : forbidRetry(error)
}

function isUnavailable({ code }: GatewayError): boolean {
  return code === 'model_unavailable'
}

/** The error of a provider that does not say when its rate limit ends forbids a retry by itself. */
function saysWhenToRetry({ code, details }: GatewayError): boolean {
  const { retryAfter, headers } = details
  return code === 'provider_rate_limited' && retryAfter !== undefined && headers === undefined
}

/** See docs/decisions/routing.md, "Clients are told not to retry". */
function forbidRetry(error: GatewayError): GatewayError {
  return error.withHeader('x-should-retry', 'false')
}

/**
 * Another provider may have the API key or the model that this one lacks. If the model is fixed, these errors
 * go to the client. See docs/decisions/routing.md, "An automatic choice continues when our key is refused or
 * the provider does not know the model".
 */
function canTryNextTarget({ code, mayFailOver }: GatewayError, { isFixed }: Route): boolean {
  return mayFailOver || (!isFixed && TARGET_ERRORS.has(code))
}

/** Another deployment has the same model, and may have another key or name for it. */
function canTryNextDeployment({ code, mayFailOver }: GatewayError): boolean {
  return mayFailOver || (TARGET_ERRORS.has(code) && code !== 'context_length_exceeded')
}

function choiceAt(
  pool: DeploymentPool,
  target: Target,
  route: Route,
  tried: readonly Target[],
): DeploymentChoice {
  return {
    pool,
    first: target === route.targets[0] ? route.deployment : undefined,
    isRepeated: route.isFixed && tried.length > 0,
    mayWait: () => route.isFixed || nextTarget(route, [...tried, target]) === undefined,
  }
}

/** Whether the request was sent to a deployment of the target. */
function wasTried({ attempts }: ReplyingExchange, { provider, model }: Target): boolean {
  return attempts.some(({ target }) => target.provider === provider && target.model === model)
}

const TARGET_ERRORS: ReadonlySet<string> = new Set([
  'provider_authentication_error',
  'model_not_found',
  'context_length_exceeded',
])

/** Keeps the targets with a larger context than one for which the request was too long. */
function withLargerContext(route: Route, { entry }: Target): Route {
  const isLarger = (target: Target) => (target.entry?.context ?? 0) > (entry?.context ?? 0)
  // A route has targets, but `nextTarget` needs none.
  const targets = route.targets.filter(isLarger) as unknown as Route['targets']
  const bestTargets = route.targets.slice(0, route.bestTargets).filter(isLarger).length
  return { ...route, targets, bestTargets }
}

function recordAttempt(
  exchange: ReplyingExchange,
  target: Target,
  startedAt: number,
  outcome: Attempt['outcome'],
  billing?: Pick<Attempt, 'mayBeBilled'>,
): void {
  exchange.attempts.push({ target, outcome, startedAt, ms: performance.now() - startedAt, ...billing })
}

/** Warns of a call that may be billed, because its cost is an estimate. */
function recordFailure(exchange: ReplyingExchange, target: Target, startedAt: number, thrown: unknown): void {
  if (!GatewayError.isInstance(thrown)) {
    const isCancelled = exchange.client.isAborted
    const billing = isCancelled ? MAY_BE_BILLED : undefined
    recordAttempt(exchange, target, startedAt, isCancelled ? 'cancelled' : 'internal_error', billing)
  } else if (thrown.details.executed === undefined) {
    recordAttempt(exchange, target, startedAt, thrown.code)
  } else {
    recordAttempt(exchange, target, startedAt, thrown.code, MAY_BE_BILLED)
    const { provider, model } = target
    const what = thrown.details.executed === 'maybe' ? 'was not answered' : 'had no usable answer'
    const message = `A call to ${provider}/${model} ${what} and may be billed; its cost is estimated.`
    exchange.warnings.push({ code: 'estimated_cost', message })
  }
}

const MAY_BE_BILLED = { mayBeBilled: true } as const

/**
 * Waits before the retry of a fixed model. Throws the error if a retry is not worthwhile; a client may wait
 * longer.
 */
async function waitForRetry(error: GatewayError, client: ClientConnection): Promise<void> {
  const { retryAfter } = error.details
  const delayMs = retryAfter === undefined ? DEFAULT_RETRY_DELAY_MS : retryAfter * 1000
  if (delayMs > MAX_RETRY_DELAY_MS || error.code === 'provider_quota_exceeded') throw error
  const slept = sleep(delayMs, undefined, { signal: client.signal })
  await whileWaiting(client.waiting, slept).catch(() => client.signal.throwIfAborted())
}

/** Of two errors of rate limits, the one after which clients may retry sooner. */
function sooner(one: GatewayError, other: GatewayError): GatewayError {
  const waitOf = (error: GatewayError) => (saysWhenToRetry(error) ? error.details.retryAfter : undefined)
  return (waitOf(other) ?? Infinity) < (waitOf(one) ?? Infinity) ? other : one
}

/** The error after every target failed: 429 if all of them were rate limited, otherwise 503. */
function summarizeErrors(errors: readonly GatewayError[], requires: Requirement | undefined): GatewayError {
  const [first, ...others] = errors
  if (first !== undefined && errors.every(({ status }) => status === 429)) return others.reduce(sooner, first)
  const demanded = requires ? ` and meets the rules (require: ${describeRequirement(requires)})` : ''
  return new GatewayError(
    'no_providers_available',
    `Every provider that supports this request${demanded} failed. Try again later.`,
    {
      retryAfter: Math.min(...errors.map(({ details }) => details.retryAfter ?? 1)),
      cause: errors.at(-1),
    },
  )
}

/** Warns of parameters that were omitted or sent with another value, unless the endpoint filled them in. */
function addParameterWarnings(
  exchange: ReplyingExchange,
  { model }: Target,
  omitted: Deviations['omitted'],
  changed: Deviations['changed'],
): void {
  if (omitted.length === 0 && changed.length === 0) return
  const { defaulted, parameterNames, preferences, route, warnings } = exchange
  // Models of an automatic choice are tried in the order in which they honour the parameters, whatever the
  // messages hold.
  const isForced = route === undefined || route.isFixed || preferences.length > 0
  const causeOf = (param: string) => (isForced || param.endsWith(' in messages') ? '' : NO_BETTER_MODEL)
  const nameOf = (param: string) => parameterNames?.[param] ?? param
  const warn = (param: string, message: string) => {
    if (!defaulted.includes(param)) warnings.push({ code: 'parameter', message: message + causeOf(param) })
  }
  for (const param of omitted)
    warn(param, `${nameOf(param)} was omitted because ${model} does not support it.`)
  for (const { param, from, to, reason = `${model} does not support the original value` } of changed)
    warn(param, `${nameOf(param)} was changed from ${show(from)} to ${show(to)}: ${reason}.`)
}

const NO_BETTER_MODEL = ' No available model supports all parameters of this request.'

const MAX_SHOWN_CHARS = 100

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text
}
