export const CIRCUIT_STATES = ['closed', 'open', 'half_open'] as const

/** `half_open`: the cooldown is over, and one request may probe the target, or is probing it. */
export type CircuitState = (typeof CIRCUIT_STATES)[number]

/** The longest cooldown of a target that keeps failing, as a multiple of the first one. */
const MAX_COOLDOWN_FACTOR = 12

/** A request that was let through an open circuit, to find out whether the target works again. */
export interface Probe {
  readonly caller: number
}

/** Callers whose failed probes lengthen the cooldown of others: enough for the longest one. */
const MAX_FAILED_PROBERS = 4

/** The state of one circuit. Times are in milliseconds, of any clock. */
export class Circuit {
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
