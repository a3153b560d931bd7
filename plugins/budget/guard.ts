import type { Registry } from 'prom-client'
import {
  type EndedExchange,
  GatewayError,
  type Host,
  type MaybePromise,
  type ReplyingExchange,
  type Route,
  SharedStateUnavailableError,
  slot,
} from '../../core/contract/index.ts'
import { toNanoUsd } from '../../core/prices/cost.ts'
import type { HeldResult, Hold } from '../../core/shared-state/held-reservations.ts'
import { createOutcomeCounter } from '../../core/util/metrics.ts'
import { costOfEnded, WorstCase } from '../ledger/index.ts'
import { budgetExceeded, budgetReserved, budgetUnavailable, describeBudget, priceUnknown } from './errors.ts'
import { BUDGET_TARGETS, type OwnedBudget } from './owned-budget.ts'
import { UnknownPriceError, worstCaseOf } from './request-cost.ts'
import type { Spending } from './spending.ts'

export interface GuardOptions {
  readonly unknown_price: 'refuse' | 'allow'
  readonly on_redis_failure: 'refuse' | 'allow'
  /** How long a request waits for budget that others have reserved. */
  readonly wait_ms: number
}

const NONE: ReadonlySet<OwnedBudget> = new Set()

interface HeldBudget {
  readonly hold: Hold
  readonly budgets: readonly OwnedBudget[]
}

const heldBudget = slot<HeldBudget>('budget')

/** Reserves the worst case of requests in their budgets, and settles it with what they cost. */
export class BudgetGuard {
  readonly #spending: Spending
  readonly #costOf: Host['costOf']
  readonly #options: GuardOptions
  readonly #recordOutcome: ReturnType<typeof createOutcomeMetric>

  constructor(
    spending: Spending,
    { costOf, metrics }: Pick<Host, 'costOf' | 'metrics'>,
    options: GuardOptions,
  ) {
    this.#spending = spending
    this.#costOf = costOf
    this.#options = options
    this.#recordOutcome = createOutcomeMetric(metrics)
  }

  /** Throws a `GatewayError` if the budgets do not cover the request. May change its route. */
  reserve(exchange: ReplyingExchange, budgets: readonly OwnedBudget[]): MaybePromise<void> {
    try {
      const reserved = this.#reserveWithin(exchange, budgets, NONE)
      return reserved?.catch((error: unknown) => this.#handleFailure(error, budgets))
    } catch (error) {
      this.#handleFailure(error, budgets)
    }
  }

  /** Returns if the request is allowed although its cost cannot be reserved. */
  #handleFailure(error: unknown, budgets: readonly OwnedBudget[]): void {
    const isUnknown = error instanceof UnknownPriceError
    if (!isUnknown && !SharedStateUnavailableError.isInstance(error)) throw error
    const { unknown_price, on_redis_failure } = this.#options
    const isAllowed = (isUnknown ? unknown_price : on_redis_failure) === 'allow'
    this.#recordAll(budgets, isAllowed ? 'allowed_uncounted' : 'refused_uncounted')
    if (!isAllowed) throw isUnknown ? priceUnknown(error.target) : budgetUnavailable()
  }

  /**
   * Counts what the request cost. See docs/decisions/limits.md, "What is not known counts as the worst case".
   */
  settle(exchange: EndedExchange): void {
    const held = heldBudget.of(exchange)
    if (held === undefined) return
    const cost = costOfEnded(exchange)
    const used = cost === 'unknown' ? (WorstCase.of(exchange) ?? 0) : cost
    held.hold.settle(held.budgets.map(() => used))
  }

  /** Budgets in `exceeded` never refuse. */
  #reserveWithin(
    exchange: ReplyingExchange,
    budgets: readonly OwnedBudget[],
    exceeded: ReadonlySet<OwnedBudget>,
  ): Promise<void> | undefined {
    const { client, id: requestId } = exchange
    const worstCase = worstCaseOf(exchange, requireRoute(exchange), this.#costOf)
    const options = { waitMs: this.#options.wait_ms, client, remembered: { requestId } }
    const result = this.#spending.reserve(budgets, worstCase, exceeded, options)
    return result instanceof Promise
      ? result.then((reserved) => this.#apply(reserved, exchange, budgets, exceeded, worstCase))
      : this.#apply(result, exchange, budgets, exceeded, worstCase)
  }

  #apply(
    result: HeldResult,
    exchange: ReplyingExchange,
    budgets: readonly OwnedBudget[],
    exceeded: ReadonlySet<OwnedBudget>,
    worstCase: number,
  ): Promise<void> | undefined {
    if (result.hold !== undefined) {
      heldBudget.set(exchange, { hold: result.hold, budgets })
      WorstCase.set(exchange, worstCase)
      this.#reportAllowed(exchange, budgets, exceeded, result)
      return undefined
    }
    const full = budgets[result.refusedBy]
    if (full === undefined) throw new TypeError('a reservation was refused without a reason')
    if (!this.#downgrade(exchange, full)) throw this.#refusal(full, result, worstCase)
    return this.#reserveWithin(exchange, budgets, new Set([...exceeded, full]))
  }

  /**
   * Routes an automatic choice in the mode `cost`. Returns false if the budget or the request does not allow
   * that. See docs/decisions/limits.md, "A downgrade applies to automatic choices".
   */
  #downgrade(exchange: ReplyingExchange, { budget }: OwnedBudget): boolean {
    const { route } = exchange
    if (budget.onExceed !== 'downgrade' || route?.reroute === undefined) return false
    if (route.mode !== 'cost') exchange.route = route.reroute('cost', 'a budget is exceeded')
    return true
  }

  #refusal(full: OwnedBudget, result: HeldResult, worstCase: number): GatewayError {
    const { isTemporary, counters, refusedBy } = result
    this.#recordOutcome(full.target.type, isTemporary ? 'reserved' : 'refused')
    return isTemporary ? budgetReserved(full) : budgetExceeded(full, counters[refusedBy], worstCase)
  }

  /** Warns of budgets that are exceeded, or will be soon. */
  #reportAllowed(
    { warnings }: ReplyingExchange,
    budgets: readonly OwnedBudget[],
    exceeded: ReadonlySet<OwnedBudget>,
    { counters }: HeldResult,
  ): void {
    for (let index = 0; index < budgets.length; index++) {
      const owned = budgets[index] as OwnedBudget
      const { warnRatio = Number.POSITIVE_INFINITY, limitUsd } = owned.budget
      const used = counters[index]?.used ?? 0
      if (exceeded.has(owned)) {
        warnings.push({
          code: 'budget',
          message: `${describeBudget(owned)} is exceeded: the mode cost was used.`,
        })
        this.#recordOutcome(owned.target.type, 'downgraded')
      } else if (used >= warnRatio * toNanoUsd(limitUsd)) {
        const percent = limitUsd === 0 ? 100 : Math.floor((100 * used) / toNanoUsd(limitUsd))
        const message = `${describeBudget(owned)} is spent to ${percent} percent.`
        warnings.push({ code: 'budget', message })
        this.#recordOutcome(owned.target.type, 'warned')
      } else this.#recordOutcome(owned.target.type, 'allowed')
    }
  }

  #recordAll(budgets: readonly OwnedBudget[], outcome: BudgetOutcome): void {
    for (const { target } of budgets) this.#recordOutcome(target.type, outcome)
  }
}

function requireRoute({ route }: ReplyingExchange): Route {
  if (route !== undefined) return route
  throw new GatewayError('internal_error', 'No plugin has set a route for the request.')
}

const BUDGET_OUTCOMES = [
  'allowed',
  'warned',
  'downgraded',
  'refused',
  'reserved',
  'allowed_uncounted',
  'refused_uncounted',
] as const

type BudgetOutcome = (typeof BUDGET_OUTCOMES)[number]

function createOutcomeMetric(metrics: Registry) {
  const name = 'signalbox_budget_outcomes_total'
  const help = 'Inference requests under a budget, by the kind of the budget and outcome.'
  return createOutcomeCounter(metrics, { name, help }, 'target', BUDGET_TARGETS, BUDGET_OUTCOMES)
}
