import { definePlugin, type Exchange } from '../../core/contract/index.ts'
import { includesOwnRules } from '../../projections/accounts.ts'
import { allRules, emptyRuleSet } from '../../projections/rules.ts'

/** Suspends the stored rules of users whose plan includes none. */
export default definePlugin({
  name: 'plan',
  after: ['auth'],
  replay: { type: 'pure' },
  setup: () => ({
    decide(exchange) {
      if (!includesOwnRules(exchange.account.plan)) suspendRules(exchange)
    },
  }),
})

/**
 * Removes the rules of a downgraded user from the exchange; they stay stored. Adds a warning, so that a
 * firewall never stops working silently.
 */
function suspendRules(exchange: Exchange): void {
  const count = allRules(exchange.rules).filter((rule) => rule.is_enabled).length
  if (count === 0) return
  exchange.rules = emptyRuleSet(exchange.rules.ownerId)
  const subject = count === 1 ? '1 stored rule was' : `${count} stored rules were`
  const message = `${subject} not applied: custom rules require a paid plan.`
  exchange.warnings.push({ code: 'plan', message })
}
