import { type Plugin, type Static, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { HeldReservations } from '../../core/shared-state/held-reservations.ts'
import type { SharedState } from '../../core/shared-state/shared-state.ts'
import { chain } from '../../core/util/maybe-promise.ts'
import type { CopyHooks } from '../shadow/copy-hooks.ts'
import { type BudgetServices, createBudgetCommands } from './budget-commands.ts'
import { createBudgetEndpoints } from './endpoints.ts'
import { BudgetGuard, type GuardOptions } from './guard.ts'
import { budgetsOf, budgetsOfCopies } from './owned-budget.ts'
import { type CostLedger, Spending } from './spending.ts'

export const BUDGET_DEFAULTS: GuardOptions = {
  unknown_price: 'refuse',
  on_redis_failure: 'refuse',
  wait_ms: 5000,
}

const budgetOptions = StrictObject({
  unknown_price: StringEnum(['refuse', 'allow'], { default: BUDGET_DEFAULTS.unknown_price }),
  on_redis_failure: StringEnum(['refuse', 'allow'], { default: BUDGET_DEFAULTS.on_redis_failure }),
  wait_ms: Type.Integer({ minimum: 0, maximum: 60_000, default: BUDGET_DEFAULTS.wait_ms }),
})

interface RecordedRequests {
  /** Calls the listener with the ids of requests whose records are written. */
  onRecorded(listener: (requestId: string) => void): void
}

/** Limits what users, keys and everything together may spend (docs/budgets.md). */
export function createBudget(
  services: BudgetServices,
  shared: Pick<SharedState, 'reservations'>,
  copies: CopyHooks,
  ledger?: CostLedger & RecordedRequests,
): Plugin {
  const { accounts, groups, overallBudget } = services
  return {
    name: 'budget',
    after: ['auth', 'routing'],
    before: ['dispatch'],
    options: budgetOptions,
    async setup(options: Static<typeof budgetOptions>, host) {
      const held = new HeldReservations(shared.reservations('budgets'))
      await held.start()
      const spending = new Spending(held, ledger)
      ledger?.onRecorded((requestId) => spending.recorded(requestId))
      services.hooks.catchUp = (owned) => spending.catchUp(owned)
      const guard = new BudgetGuard(spending, host, options)
      copies.reserve = (exchange) => {
        const { account, isOwnCopy } = exchange
        const ofCaller = isOwnCopy ? budgetsOf(account, accounts, groups, overallBudget) : []
        const budgets = budgetsOfCopies(overallBudget, ofCaller)
        return budgets.length === 0 ? undefined : guard.reserve(exchange, budgets)
      }
      copies.settle = (exchange) => guard.settle(exchange)
      return {
        reply(exchange, next) {
          const budgets = budgetsOf(exchange.account, accounts, groups, overallBudget)
          return budgets.length === 0 ? next() : chain(guard.reserve(exchange, budgets), next)
        },
        observe({ exchange }) {
          if (exchange !== undefined) guard.settle(exchange)
        },
        endpoints: createBudgetEndpoints({ commands: createBudgetCommands(services), spending }),
        close: () => held.close(),
      }
    },
  }
}
