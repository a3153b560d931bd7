import { definePlugin, type Static, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { HeldReservations } from '../../core/shared-state/held-reservations.ts'
import { SharedState } from '../../core/shared-state/shared-state.ts'
import { chain } from '../../core/util/maybe-promise.ts'
import { GatewayState } from '../../projections/state.ts'
import { CopyOf, Ledger } from '../ledger/index.ts'
import { createBudgetCommands } from './budget-commands.ts'
import { createBudgetScoping } from './budget-scope.ts'
import { createBudgetEndpoints } from './endpoints.ts'
import { BUDGET_ERROR_CODES } from './errors.ts'
import { BudgetGuard, type GuardOptions } from './guard.ts'
import { BudgetOptions, Budgets } from './index.ts'
import { budgetsOf, budgetsOfCopies, type OwnedBudget } from './owned-budget.ts'
import { Spending } from './spending.ts'

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

/** Limits what users, keys and everything together may spend (docs/guides/budgets.md). */
export default definePlugin({
  name: 'budget',
  after: ['auth', 'routing'],
  before: ['dispatch'],
  options: budgetOptions,
  uses: { state: GatewayState, shared: SharedState, ledger: Ledger },
  replay: { type: 'recorded' },
  provides: [Budgets, BudgetOptions],
  async setup(options: Static<typeof budgetOptions>, host) {
    const { state, shared, ledger } = host.use
    const { accounts, groups, overallBudget } = state
    const held = new HeldReservations(shared.reservations('budgets'))
    await held.start()
    const spending = new Spending(held, {
      async sumCosts(query) {
        await ledger.flush()
        return ledger.sumCosts(query)
      },
    })
    ledger.onRecorded((requestId) => spending.recorded(requestId))
    const guard = new BudgetGuard(spending, host, options)
    const catchUp = (owned: OwnedBudget) => spending.catchUp(owned)
    host.provide(BudgetOptions, options)
    host.provide(Budgets, {
      catchUp,
      reserveCopy(exchange) {
        const isOwn = CopyOf.of(exchange)?.isOwn === true
        const ofCaller = isOwn ? budgetsOf(exchange.account, accounts, groups, overallBudget) : []
        const budgets = budgetsOfCopies(overallBudget, ofCaller)
        return budgets.length === 0 ? undefined : guard.reserve(exchange, budgets)
      },
      settleCopy: (exchange) => guard.settle(exchange),
    })
    return {
      reply(exchange, next) {
        const budgets = budgetsOf(exchange.account, accounts, groups, overallBudget)
        return budgets.length === 0 ? next() : chain(guard.reserve(exchange, budgets), next)
      },
      observe({ exchange }) {
        if (exchange !== undefined) guard.settle(exchange)
      },
      errorCodes: BUDGET_ERROR_CODES,
      endpoints: createBudgetEndpoints({
        commands: createBudgetCommands(state),
        spending,
        scoping: createBudgetScoping(state),
      }),
      close: () => held.close(),
    }
  },
})
