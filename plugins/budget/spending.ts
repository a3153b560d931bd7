import { type MaybePromise, SharedStateUnavailableError } from '../../core/contract/index.ts'
import { NO_CLIENT } from '../../core/pipeline/decide-again.ts'
import { toNanoUsd } from '../../core/prices/cost.ts'
import type {
  HeldReservations,
  HeldResult,
  Rebuild,
  ReserveOptions,
} from '../../core/shared-state/held-reservations.ts'
import type { ReservationEntry } from '../../core/shared-state/reservations.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { CostQuery, CostSum } from '../ledger/index.ts'
import { type BudgetTarget, counterAt, counterKey, type OwnedBudget } from './owned-budget.ts'
import { periodAt, rangeOf } from './periods.ts'

/**
 * What the request ledger knows about costs. See docs/decisions/limits.md, "Counters are rebuilt from the
 * ledger".
 */
export interface CostLedger {
  sumCosts(query: CostQuery): Promise<Pick<CostSum, 'cost'>>
}

export interface SpendingState {
  /** In billionths of a US dollar. */
  readonly spent: number
  readonly reserved: number
}

/** A reservation may be settled this long after its period. */
const SETTLEMENT_MS = 24 * 60 * 60 * 1000

/** What was spent and reserved, by budget and period. Methods reject like the shared state. */
export class Spending {
  readonly #reservations: HeldReservations
  readonly #ledger: CostLedger | undefined
  readonly #now: () => number
  /** Sums that are being computed, by counter. */
  readonly #sums = new Map<string, Promise<number>>()

  constructor(reservations: HeldReservations, ledger?: CostLedger, now: () => number = Date.now) {
    this.#reservations = reservations
    this.#ledger = ledger
    this.#now = now
  }

  /** Reserves the amount in all budgets or in none. Those in `unlimited` never refuse. */
  reserve(
    budgets: readonly OwnedBudget[],
    amount: number,
    unlimited: ReadonlySet<OwnedBudget>,
    options: Pick<ReserveOptions, 'waitMs' | 'client' | 'remembered'>,
  ): MaybePromise<HeldResult> {
    const now = this.#now()
    const initial = this.#ledger === undefined ? 0 : null
    const entries = budgets.map((owned): ReservationEntry => {
      const { key, period } = counterAt(owned, now)
      const limit = unlimited.has(owned) ? null : toNanoUsd(owned.budget.limitUsd)
      const windowMs = period.endsAt === null ? null : period.endsAt - now + SETTLEMENT_MS
      return { key, amount, limit, windowMs, initial }
    })
    const loadInitial = ({ key }: ReservationEntry, rebuild: Rebuild) => {
      const owned = budgets.find((candidate) => counterKey(candidate, now) === key)
      return owned === undefined ? Promise.resolve(0) : this.#sumCosts(owned, now, rebuild)
    }
    const { waitMs, client, remembered = 'never' } = options
    return this.#reservations.reserve(entries, { waitMs, client, remembered, loadInitial })
  }

  async read(owned: OwnedBudget): Promise<SpendingState> {
    const now = this.#now()
    const [counter] = await this.#reservations.read([counterKey(owned, now)])
    if (counter) return { spent: counter.used, reserved: counter.reserved }
    return { spent: await this.#sumCosts(owned, now), reserved: 0 }
  }

  /**
   * Counts what was spent while the budget was not in force: nothing is reserved then, but its counter may
   * still exist. See docs/decisions/limits.md, "Counters are rebuilt from the ledger".
   */
  async catchUp(owned: OwnedBudget): Promise<void> {
    if (this.#ledger === undefined) return
    const now = this.#now()
    const key = counterKey(owned, now)
    const [counter] = await this.#reservations.read([key])
    if (!counter) return
    const missing = (await this.#sumCosts(owned, now)) - counter.used
    if (missing > 0) await this.add([owned], missing)
  }

  /** Counts an amount that was spent without a reservation. */
  async add(budgets: readonly OwnedBudget[], amount: number): Promise<void> {
    const { hold } = await this.reserve(budgets, 0, new Set(budgets), { waitMs: 0, client: NO_CLIENT })
    hold?.settle(budgets.map(() => amount))
  }

  /** The ledger has this request. */
  recorded(requestId: string): void {
    this.#reservations.recorded(requestId)
  }

  /** Sums once for all requests that find the counter lost. */
  #sumCosts(owned: OwnedBudget, now: number, rebuild?: Rebuild): Promise<number> {
    if (this.#ledger === undefined) return Promise.resolve(0)
    const key = `${counterKey(owned, now)} ${rebuild?.generation ?? ''}`
    const running = this.#sums.get(key)
    if (running !== undefined) return running
    const sum = this.#ledger
      .sumCosts({
        ...rangeOf(periodAt(owned.budget.period, now)),
        ...toQuery(owned.target),
        ...(rebuild && { except: rebuild.except }),
      })
      .then(({ cost }) => cost)
      .catch((error: unknown) => {
        throw new SharedStateUnavailableError(`ledger: ${errorMessage(error)}`)
      })
      .finally(() => this.#sums.delete(key))
    this.#sums.set(key, sum)
    return sum
  }
}

/** The requests whose costs a budget counts. */
export function toQuery(target: BudgetTarget): Omit<CostQuery, 'since' | 'until'> {
  if (target.type === 'user') return { userId: target.userId }
  if (target.type === 'group') return { groupId: target.groupId }
  if (target.type === 'shadow') return { copies: true }
  return target.type === 'key' ? { keyId: target.keyId } : {}
}
