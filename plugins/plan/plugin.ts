import {
  type Admission,
  type Exchange,
  GatewayError,
  type Plugin,
  requireAccount,
} from '../../core/contract/index.ts'
import { emptyRuleSet } from '../../projections/rules.ts'

/** Endpoints that require a paid plan (docs/api.md, "Authentication"). */
const PAID_PATHS = /^\/v1\/(routing-rules|firewall-rules|rules)(\/|$)/

/** Restricts custom rules to paid plans: managing them, and applying stored ones. */
export function createPlan(): Plugin {
  return {
    name: 'plan',
    after: ['auth'],
    setup: () => ({
      decide(exchange) {
        if (exchange.account.plan === 'free') suspendRules(exchange)
      },
      admit(request) {
        if (requireAccount(request).plan === 'free') refusePaidEndpoint(request)
      },
    }),
  }
}

function refusePaidEndpoint({ path }: Admission): void {
  if (!PAID_PATHS.test(path)) return
  throw new GatewayError('plan_required', 'Custom routing and firewall rules require a paid plan.')
}

/**
 * Removes the rules of a downgraded user from the exchange; they stay stored. Adds a warning, so that a
 * firewall never stops working silently.
 */
function suspendRules(exchange: Exchange): void {
  const { routing, firewall, userId } = exchange.rules
  const count = [...routing, ...firewall].filter((rule) => rule.is_enabled).length
  if (count === 0) return
  exchange.rules = emptyRuleSet(userId)
  const subject = count === 1 ? '1 stored rule was' : `${count} stored rules were`
  const message = `${subject} not applied: custom rules require a paid plan.`
  exchange.warnings.push({ code: 'plan', message })
}
