import type { LRUCache } from 'lru-cache'
import { GatewayError, type Target } from '../../core/contract/index.ts'
import { ConnectError } from './http.ts'

export const CIRCUIT_STATES = ['closed', 'open', 'half_open'] as const

/** `half_open`: the cooldown is over, and one request may probe the target, or is probing it. */
export type CircuitState = (typeof CIRCUIT_STATES)[number]

/** The longest cooldown of a target that keeps failing, as a multiple of the first one. */
const MAX_COOLDOWN_FACTOR = 12

/** A request that was let through an open circuit, to find out whether the target works again. */
interface Probe {
  readonly caller: number
}

/** Callers whose failed probes lengthen the cooldown of others: enough for the longest one. */
const MAX_FAILED_PROBERS = 4

/** The state of one circuit. Times are in milliseconds, of any clock. */
class Circuit {
  readonly #cooldownMs: number
  #isClosed = true
  /** When the next probe may start. */
  #openUntil = 0
  /** The same for callers whose probe has failed. */
  #openUntilAgain = 0
  #probe: Probe | undefined
  /** Since the circuit was last closed. */
  #failedProbes = 0
  readonly #failedProbers = new Set<number>()

  constructor(cooldownMs: number) {
    this.#cooldownMs = cooldownMs
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  state(now: number): CircuitState {
    if (this.#isClosed) return 'closed'
    return this.#probe !== undefined || this.#openUntil <= now ? 'half_open' : 'open'
  }

  /** The time after which a request of the caller may be let through; 0 if it may be now. */
  waitMs(caller: number, now: number): number {
    if (this.#isClosed) return 0
    const openUntil = this.#failedProbers.has(caller) ? this.#openUntilAgain : this.#openUntil
    return Math.max(openUntil - now, 0)
  }

  /**
   * Makes a request of the caller the probe; returns undefined if the circuit is closed. A probe that takes
   * longer than the first cooldown no longer holds up others.
   */
  startProbe(caller: number, now: number): Probe | undefined {
    if (this.#isClosed) return undefined
    this.#probe = { caller }
    this.#openUntil = now + this.#cooldownMs
    this.#openUntilAgain = this.#openUntil
    return this.#probe
  }

  /** Opens a closed circuit. */
  open(now: number): void {
    if (!this.#isClosed) return
    this.#isClosed = false
    this.#startCooldown(now)
  }

  close(): void {
    this.#isClosed = true
    this.#probe = undefined
    this.#failedProbes = 0
    this.#failedProbers.clear()
  }

  /** Starts the next cooldown. */
  failProbe(probe: Probe, now: number): void {
    if (probe !== this.#probe) return
    this.#probe = undefined
    this.#failedProbes++
    if (this.#failedProbers.size < MAX_FAILED_PROBERS) this.#failedProbers.add(probe.caller)
    this.#startCooldown(now)
  }

  /** Lets the next request probe, because this one ended without a result. */
  releaseProbe(probe: Probe, now: number): void {
    if (probe !== this.#probe) return
    this.#probe = undefined
    this.#openUntil = now
    this.#openUntilAgain = now
  }

  /**
   * Each failed probe doubles the cooldown. For other callers only probes of different callers count:
   * otherwise one whose requests always fail could keep the circuit open for everybody.
   */
  #startCooldown(now: number): void {
    this.#openUntil = now + this.#cooldownAfter(this.#failedProbers.size)
    this.#openUntilAgain = now + this.#cooldownAfter(this.#failedProbes)
  }

  #cooldownAfter(failedProbes: number): number {
    return this.#cooldownMs * Math.min(2 ** failedProbes, MAX_COOLDOWN_FACTOR)
  }
}

export interface BreakerSettings {
  /** Requests, of one caller or of all, below which a circuit stays closed. */
  readonly min_requests: number
  /** The share of failed requests that opens a circuit. */
  readonly failure_ratio: number
  /** How many callers must have failed requests before the circuit opens for all of them. */
  readonly min_callers: number
  /** The period in which requests are counted, in milliseconds. */
  readonly window_ms: number
  /** First cooldown of an open circuit, in milliseconds. Each failed probe doubles it, up to 12 times. */
  readonly open_ms: number
}

/** Who makes a provider call, and whether the same request was sent to the same target before. */
export interface BreakerCall {
  /** The user id. */
  readonly caller: number
  readonly isRetry: boolean
}

/** The failures of one caller at one model. */
export interface CallerRecord {
  readonly caller: number
  readonly circuit: Circuit
  readonly window: RequestWindow
  /** When automatic routing may choose the model for the caller again. */
  excludedUntil: number
}

/** Milliseconds for which a target should not be chosen. */
export interface TargetRest {
  /** Its circuit is open. */
  readonly circuitMs: number
  /** Its rate limit or quota is used up. */
  readonly rateLimitMs: number
  /** A request of the caller has failed there. */
  readonly failureMs: number
}

/** A call that a breaker has let through. */
export class GuardedCall {
  readonly #breaker: ModelBreaker
  readonly #by: BreakerCall
  readonly #probes: Probes

  constructor(breaker: ModelBreaker, by: BreakerCall, probes: Probes) {
    this.#breaker = breaker
    this.#by = by
    this.#probes = probes
  }

  succeed(): void {
    this.#breaker.onSuccess(this.#by, this.#probes)
  }

  fail(error: unknown): void {
    this.#breaker.onError(error, this.#by, this.#probes)
  }
}

/** The records of all models, least recently failed first. It is bounded, and forgets what it evicts. */
export type CallerRecords = LRUCache<CallerRecord, ModelBreaker>

/** The probes that a request makes: of the circuit for all callers, and of that of its own caller. */
interface Probes {
  readonly common?: Probe | undefined
  readonly own?: Probe | undefined
}

const NO_PROBES: Probes = {}

/**
 * The circuits of one model: see docs/decisions/routing.md, "One caller's failures open a circuit for this
 * caller alone", and docs/decisions/routing.md, "A stream that fails midway does not open the circuit".
 */
export class ModelBreaker {
  readonly provider: string
  readonly model: string
  readonly deployment: string | undefined
  /** How long the target rests after an error that does not say it. */
  readonly #restMs: number
  readonly #settings: BreakerSettings
  readonly #now: () => number
  readonly #allRecords: CallerRecords
  readonly #circuit: Circuit
  /** The requests of all callers. */
  #window: RequestWindow
  readonly #records = new Map<number, CallerRecord>()
  /** When automatic routing may choose the model again, by a `retry-after` with a rate limit. */
  #excludedUntil = 0

  constructor(
    { provider, model, deployment }: Pick<Target, 'provider' | 'model' | 'deployment'>,
    settings: BreakerSettings,
    now: () => number,
    allRecords: CallerRecords,
  ) {
    this.provider = provider
    this.model = model
    this.deployment = deployment
    // Another deployment serves the model meanwhile.
    this.#restMs = deployment === undefined ? 0 : settings.open_ms
    this.#settings = settings
    this.#now = now
    this.#allRecords = allRecords
    this.#circuit = new Circuit(settings.open_ms)
    this.#window = new RequestWindow(settings.window_ms, now())
  }

  get state(): CircuitState {
    return this.#circuit.state(this.#now())
  }

  isUsable(caller: number): boolean {
    // Each automatic choice asks this of every model, so nothing is allocated.
    const now = this.#now()
    if (this.#excludedUntil > now || this.#waitMs(caller, now) > 0) return false
    return (this.#records.get(caller)?.excludedUntil ?? 0) <= now
  }

  /** How long the model should not be chosen for the caller, by reason. */
  rest(caller: number): TargetRest {
    const now = this.#now()
    const failedUntil = this.#records.get(caller)?.excludedUntil ?? 0
    return {
      circuitMs: this.#waitMs(caller, now),
      rateLimitMs: Math.max(this.#excludedUntil - now, 0),
      failureMs: Math.max(failedUntil - now, 0),
    }
  }

  /** Lets a call through, or throws `model_unavailable`. */
  enter(target: Target, by: BreakerCall): GuardedCall {
    const probes = by.isRetry ? NO_PROBES : this.#admit(target, by.caller)
    return new GuardedCall(this, by, probes)
  }

  /** Removes a record that `allRecords` no longer has. */
  forget(record: CallerRecord): void {
    if (this.#records.get(record.caller) === record) this.#records.delete(record.caller)
  }

  #waitMs(caller: number, now: number): number {
    return Math.max(
      this.#circuit.waitMs(caller, now),
      this.#records.get(caller)?.circuit.waitMs(caller, now) ?? 0,
    )
  }

  /**
   * Only one request at a time probes the model. The others are rejected rather than queued, since the probe
   * may hang.
   */
  #admit(target: Target, caller: number): Probes {
    const own = this.#records.get(caller)?.circuit
    if (this.#circuit.isClosed && own === undefined) return NO_PROBES
    const now = this.#now()
    const waitMs = this.#waitMs(caller, now)
    if (waitMs > 0) throw unavailableError(target, waitMs)
    return { common: this.#circuit.startProbe(caller, now), own: own?.startProbe(caller, now) }
  }

  /** While a circuit is not closed, only probes and retries close it: other calls began earlier. */
  onSuccess({ caller, isRetry }: BreakerCall, { common, own }: Probes): void {
    const now = this.#now()
    const record = this.#records.get(caller)
    if ((isRetry || common !== undefined) && !this.#circuit.isClosed) {
      this.#circuit.close()
      this.#window = new RequestWindow(this.#settings.window_ms, now)
      for (const failed of this.#records.values()) this.#allRecords.delete(failed)
    } else if (record !== undefined && !record.circuit.isClosed) {
      if (isRetry || own !== undefined) this.#allRecords.delete(record)
    } else {
      this.#window.add(false, now)
      record?.window.add(false, now)
    }
  }

  onError(error: unknown, by: BreakerCall, { common, own }: Probes): void {
    const now = this.#now()
    const record = this.#records.get(by.caller)
    if (isFailure(error)) {
      if (common !== undefined) this.#circuit.failProbe(common, now)
      if (own !== undefined) record?.circuit.failProbe(own, now)
      if (isConnectError(error)) this.#circuit.open(now)
      else if (!by.isRetry) this.#countFailure(record ?? this.#addRecord(by.caller, now), now)
    } else if (isProviderAnswer(error)) {
      // The failures stay counted: the next one opens the circuit again.
      if (common !== undefined) this.#circuit.close()
      if (own !== undefined) record?.circuit.close()
    } else {
      if (common !== undefined) this.#circuit.releaseProbe(common, now)
      if (own !== undefined) record?.circuit.releaseProbe(own, now)
    }
    const rests = GatewayError.isInstance(error) && (error.status >= 500 || error.mayFailOver)
    const restMs = rests ? this.#restMs : 0
    this.#exclude(error, by.caller, now + (requestedCooldownMs(error) || restMs))
  }

  #addRecord(caller: number, now: number): CallerRecord {
    const { open_ms, window_ms } = this.#settings
    const circuit = new Circuit(open_ms)
    const record = { caller, circuit, window: new RequestWindow(window_ms, now), excludedUntil: 0 }
    this.#records.set(caller, record)
    return record
  }

  /** A caller counts with at most `min_requests` failures for all, so that one with many does not decide. */
  #countFailure(record: CallerRecord, now: number): void {
    record.window.add(true, now)
    this.#allRecords.set(record, this)
    const counts = record.window.read(now)
    if (counts.failures <= this.#settings.min_requests) this.#window.add(true, now)
    if (this.#isFailing(counts)) record.circuit.open(now)
    if (this.#isFailing(this.#window.read(now)) && this.#areCallersFailing(now)) this.#circuit.open(now)
  }

  #isFailing({ requests, failures }: RequestCounts): boolean {
    const { min_requests, failure_ratio } = this.#settings
    return requests >= min_requests && failures >= requests * failure_ratio
  }

  #areCallersFailing(now: number): boolean {
    let callers = 0
    for (const record of this.#records.values()) {
      if (record.window.read(now).failures > 0) callers++
      else if (record.circuit.isClosed && record.excludedUntil <= now) this.#allRecords.delete(record)
      if (callers >= this.#settings.min_callers) return true
    }
    return false
  }

  /** A server error may be due to the request; rate limits and quotas are those of the gateway's account. */
  #exclude(error: unknown, caller: number, until: number): void {
    const record = isFailure(error) ? this.#records.get(caller) : undefined
    if (record !== undefined) record.excludedUntil = Math.max(record.excludedUntil, until)
    else if (!isFailure(error)) this.#excludedUntil = Math.max(this.#excludedUntil, until)
  }
}

/** True for failures of the provider and of the gateway's account there; rate limits (429) do not count. */
function isFailure(error: unknown): error is GatewayError {
  return GatewayError.isInstance(error) && error.status >= 500
}

function isConnectError({ details }: GatewayError): boolean {
  return details.cause instanceof ConnectError
}

const ANSWERS: ReadonlySet<string> = new Set(['model_not_found', 'context_length_exceeded'])

/** False if the call was cancelled, or rejected before it was sent. */
function isProviderAnswer(error: unknown): boolean {
  if (!GatewayError.isInstance(error)) return false
  return error.code.startsWith('provider_') || ANSWERS.has(error.code)
}

/**
 * Limits the cooldown that a provider may ask for, so that a wrong header does not disable a model for a day.
 */
const MAX_REQUESTED_COOLDOWN_MS = 60_000

/**
 * Milliseconds for which the provider asked not to be called; 0 if it did not. The maximum if the quota is
 * used up, because an operator has to raise it.
 */
function requestedCooldownMs(error: unknown): number {
  if (!GatewayError.isInstance(error) || !error.mayFailOver) return 0
  if (error.code === 'provider_quota_exceeded') return MAX_REQUESTED_COOLDOWN_MS
  return Math.min((error.details.retryAfter ?? 0) * 1000, MAX_REQUESTED_COOLDOWN_MS)
}

function unavailableError({ provider, model }: Target, waitMs: number): GatewayError {
  const message = `${provider}/${model} is temporarily unavailable (circuit open).`
  return new GatewayError('model_unavailable', message, { retryAfter: Math.ceil(waitMs / 1000) })
}

/** Requests and failures of a period. */
interface RequestCounts {
  readonly requests: number
  readonly failures: number
}

const NONE: RequestCounts = { requests: 0, failures: 0 }

/**
 * Counts the requests of about the last `windowMs` milliseconds. The window moves in steps of half its
 * length, so that it needs no list of requests.
 */
class RequestWindow {
  readonly #halfMs: number
  #startedAt: number
  #current = { ...NONE }
  #previous = NONE

  constructor(windowMs: number, now: number) {
    this.#halfMs = windowMs / 2
    this.#startedAt = now
  }

  add(isFailure: boolean, now: number): void {
    this.#move(now)
    this.#current.requests++
    if (isFailure) this.#current.failures++
  }

  read(now: number): RequestCounts {
    this.#move(now)
    return {
      requests: this.#current.requests + this.#previous.requests,
      failures: this.#current.failures + this.#previous.failures,
    }
  }

  #move(now: number): void {
    const halves = Math.floor((now - this.#startedAt) / this.#halfMs)
    if (halves < 1) return
    this.#previous = halves === 1 ? this.#current : NONE
    this.#current = { ...NONE }
    this.#startedAt += halves * this.#halfMs
  }
}
