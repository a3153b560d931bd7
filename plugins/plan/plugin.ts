import { type Exchange, type GatewayContext, GatewayError, type Plugin } from '../../core/contract/index.ts'
import { emptyRuleSet } from '../../projections/rules.ts'

/** Endpoints for paid plans only (docs/api.md, "Authentication" 4). */
const PAID_PATHS = /^\/v1\/(routing-rules|firewall-rules|rules)(\/|$)/

/** What the caller's plan includes: custom rules need a paid one. */
export function createPlan(): Plugin {
  return {
    name: 'plan',
    after: ['auth'],
    applies: 'all',
    setup: () => ({
      decide(exchange) {
        if (exchange.account.plan === 'free') suspendRules(exchange)
      },
      middleware(ctx, next) {
        if (ctx.account.plan === 'free') refusePaidEndpoint(ctx)
        return next()
      },
    }),
  }
}

function refusePaidEndpoint(ctx: GatewayContext): void {
  if (!PAID_PATHS.test(ctx.path)) return
  throw new GatewayError('plan_required', 'Custom routing and firewall rules need a paid plan.')
}

/** A downgraded user's rules stay stored and are not applied; the answer says so, for a firewall never goes quiet silently. */
function suspendRules(exchange: Exchange): void {
  const { routing, firewall, userId } = exchange.rules
  const count = [...routing, ...firewall].filter((rule) => rule.is_enabled).length
  if (count === 0) return
  exchange.rules = emptyRuleSet(userId)
  exchange.warnings.push({
    code: 'plan',
    message: `${count} stored rules were not applied: custom rules need a paid plan.`,
  })
}
