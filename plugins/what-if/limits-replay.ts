import { Registry } from 'prom-client'
import {
  type EndedExchange,
  GatewayError,
  type Host,
  type Reply,
  ReplyEvent,
  type Target,
} from '../../core/contract/index.ts'
import { NANOS_PER_USD } from '../../core/prices/cost.ts'
import { HeldReservations } from '../../core/shared-state/held-reservations.ts'
import { createMemoryReservations } from '../../core/shared-state/memory-reservations.ts'
import type { OwnedBudget } from '../budget/index.ts'
import { BudgetGuard, type CostLedger, type GuardOptions, Spending } from '../budget/index.ts'
import type { StoredRecord } from '../ledger/index.ts'
import { timeOfRecordId } from '../ledger/index.ts'
import type { RateLimitSettings } from '../rate-limit/index.ts'
import { createUsageLimit, USAGE_WAIT_MS } from '../rate-limit/index.ts'
import { isRefusedByLimit } from './limit-errors.ts'

export interface LimitsReplayOptions {
  /** Undefined if the plugin is not listed. */
  readonly budget: GuardOptions | undefined
  readonly rateLimits: RateLimitSettings | undefined
  readonly costOf: Host['costOf']
  readonly ledger: CostLedger
}

/** How a request passed the budgets and limits. */
export interface Admitted {
  readonly error: GatewayError | undefined
  /** A budget routed it in the mode `cost`. */
  readonly isDowngraded: boolean
  /** It was not sent then, so the most that it could cost is counted. */
  readonly isEstimated: boolean
}

export const ADMITTED: Admitted = { error: undefined, isDowngraded: false, isEstimated: false }

interface InFlight {
  /** Unix time in milliseconds. */
  readonly endsAt: number
  settle(): void
}

/**
 * Replays the budgets and the limits of tokens and concurrency with requests in the order of their arrival,
 * and a clock that follows the records. See docs/decisions/what-if.md, "Limits are replayed by the code that
 * limits".
 */
export class LimitsReplay {
  readonly #options: LimitsReplayOptions
  readonly #budgets: HeldReservations
  readonly #usage: HeldReservations
  readonly #spending: Spending
  readonly #guard: BudgetGuard | undefined
  readonly #usageLimit: ReturnType<typeof createUsageLimit> | undefined
  /** In the order in which they end. */
  readonly #inFlight: InFlight[] = []
  #now = 0

  constructor(options: LimitsReplayOptions) {
    const { budget, rateLimits, costOf, ledger } = options
    this.#options = options
    const now = () => this.#now
    // Reservations are held until they are settled, however long the request took.
    const memory = createMemoryReservations(now)
    const shared = {
      ...memory,
      reserve: (...[call, id, entries]: Parameters<typeof memory.reserve>) =>
        memory.reserve(call, id, entries, Number.POSITIVE_INFINITY),
    }
    this.#budgets = new HeldReservations(shared)
    this.#usage = new HeldReservations(shared)
    const metrics = new Registry()
    this.#spending = new Spending(this.#budgets, ledger, now)
    // Waiting is replayed here: see `admit`.
    this.#guard = budget && new BudgetGuard(this.#spending, { costOf, metrics }, { ...budget, wait_ms: 0 })
    this.#usageLimit = rateLimits && createUsageLimit(rateLimits, this.#usage, metrics, 0)
  }

  /** Admits a request that was allowed by the rules. May change its route. */
  async admit(
    exchange: EndedExchange,
    record: StoredRecord,
    budgets: readonly OwnedBudget[],
  ): Promise<Admitted> {
    const arrivesAt = timeOfRecordId(record.id)
    this.#advance(arrivesAt)
    for (;;) {
      // Each attempt reserves anew.
      const attempt = { ...exchange, state: { ...exchange.state }, warnings: [...exchange.warnings] }
      const error = await this.#reserve(attempt, budgets)
      if (error === undefined) return this.#start(exchange, attempt, record, arrivesAt)
      const [next] = this.#inFlight
      if (next === undefined || next.endsAt > arrivesAt + this.#waitMsOf(error)) return { ...ADMITTED, error }
      this.#advance(next.endsAt)
    }
  }

  /** Counts what a request cost that cannot be decided about. */
  async count(
    { id, cost }: Pick<StoredRecord, 'id' | 'cost'>,
    budgets: readonly OwnedBudget[],
  ): Promise<void> {
    if (!cost || budgets.length === 0 || this.#guard === undefined) return
    this.#advance(timeOfRecordId(id))
    await this.#spending.add(budgets, cost)
  }

  async close(): Promise<void> {
    await Promise.all([this.#budgets.close(), this.#usage.close()])
  }

  async #reserve(
    exchange: EndedExchange,
    budgets: readonly OwnedBudget[],
  ): Promise<GatewayError | undefined> {
    const reserveBudgets = async () => {
      if (budgets.length > 0) await this.#guard?.reserve(exchange, budgets)
      return NO_REPLY
    }
    try {
      await (this.#usageLimit ? this.#usageLimit.reply(exchange, reserveBudgets) : reserveBudgets())
      return undefined
    } catch (error) {
      this.#settle(exchange)
      if (GatewayError.isInstance(error)) return error
      throw error
    }
  }

  #start(exchange: EndedExchange, held: EndedExchange, record: StoredRecord, arrivesAt: number): Admitted {
    const isDowngraded = held.route !== exchange.route
    if (held.route !== undefined) exchange.route = held.route
    const outcome = this.#outcomeOf(record, held.route?.targets[0])
    const endsAt = arrivesAt + record.latencyMs
    const position = this.#inFlight.findLastIndex((other) => other.endsAt <= endsAt)
    const settle = () => this.#settle({ ...held, ...outcome })
    this.#inFlight.splice(position + 1, 0, { endsAt, settle })
    return { error: undefined, isDowngraded, isEstimated: outcome === UNKNOWN }
  }

  #settle(exchange: EndedExchange): void {
    this.#guard?.settle(exchange)
    this.#usageLimit?.observe({ exchange })
  }

  #advance(time: number): void {
    for (;;) {
      const [next] = this.#inFlight
      if (next === undefined || next.endsAt > time) break
      this.#inFlight.shift()
      this.#now = Math.max(this.#now, next.endsAt)
      next.settle()
    }
    this.#now = Math.max(this.#now, time)
  }

  #waitMsOf({ code }: GatewayError): number {
    if (code === 'budget_reserved') return this.#options.budget?.wait_ms ?? 0
    return code === 'token_limit_exceeded' || code === 'concurrency_limit_exceeded' ? USAGE_WAIT_MS : -1
  }

  /** What a request cost then, at the model that it would be sent to now. */
  #outcomeOf(record: StoredRecord, target: Target | undefined): ReplayedOutcome {
    const { attempts, tokens, cost } = record
    const [first] = attempts
    if (first === undefined || target === undefined) return wasRefused(record) ? UNKNOWN : NOTHING
    const isSame = first.provider === target.provider && first.model === target.model
    const knownUsd = cost === null ? null : cost / NANOS_PER_USD
    const costUsd = isSame || tokens === null ? knownUsd : (this.#options.costOf(tokens, target) ?? null)
    return {
      attempts: attempts.map(({ outcome }) => ({ target, outcome, startedAt: 0, ms: 0 })),
      ...(tokens && { usage: tokens }),
      costUsd,
    }
  }
}

type ReplayedOutcome = Pick<EndedExchange, 'attempts' | 'usage' | 'costUsd'>

/** It was refused before it was sent. */
function wasRefused({ error }: StoredRecord): boolean {
  return error !== null && (error.code === 'firewall_blocked' || isRefusedByLimit(error.code))
}

const NOTHING: ReplayedOutcome = { attempts: [] }

/** The plugins count the worst case for it. */
const UNKNOWN: ReplayedOutcome = {
  attempts: [{ target: {} as Target, outcome: 'ok', startedAt: 0, ms: 0 }],
  costUsd: null,
}

const NO_REPLY: Reply = { type: 'whole', event: new ReplyEvent([]) }
