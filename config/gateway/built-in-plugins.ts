import type { BuiltIns } from '../../core/pipeline/load.ts'

/** The plugins that are part of the gateway. Only those that the settings list are loaded. */
export const BUILT_IN_PLUGINS: BuiltIns = new Map(
  Object.entries({
    auth: () => import('../../plugins/auth/plugin.ts'),
    'rate-limit': () => import('../../plugins/rate-limit/plugin.ts'),
    plan: () => import('../../plugins/plan/plugin.ts'),
    reasoning: () => import('../../plugins/reasoning/plugin.ts'),
    firewall: () => import('../../plugins/firewall/plugin.ts'),
    routing: () => import('../../plugins/routing/plugin.ts'),
    budget: () => import('../../plugins/budget/plugin.ts'),
    ledger: () => import('../../plugins/ledger/plugin.ts'),
    dispatch: () => import('../../plugins/dispatch/plugin.ts'),
    shadow: () => import('../../plugins/shadow/plugin.ts'),
    decorate: () => import('../../plugins/decorate/plugin.ts'),
    rules: () => import('../../plugins/rules/plugin.ts'),
    policies: () => import('../../plugins/policies/plugin.ts'),
    responses: () => import('../../plugins/responses/plugin.ts'),
    messages: () => import('../../plugins/messages/plugin.ts'),
    models: () => import('../../plugins/models/plugin.ts'),
    audit: () => import('../../plugins/audit/plugin.ts'),
    'what-if': () => import('../../plugins/what-if/plugin.ts'),
    routers: () => import('../../plugins/learned-routing/plugin.ts'),
    overview: () => import('../../plugins/overview/plugin.ts'),
    feedback: () => import('../../plugins/feedback/plugin.ts'),
    metrics: () => import('../../plugins/metrics/plugin.ts'),
    openapi: () => import('../../plugins/openapi/plugin.ts'),
    console: () => import('../../plugins/console/plugin.ts'),
    'guardrail-webhook': () => import('../../plugins/guardrail-webhook/plugin.ts'),
    cache: () => import('../../plugins/cache/plugin.ts'),
    tracing: () => import('../../plugins/tracing/plugin.ts'),
  }).map(([name, load]) => [name, async () => (await load()).default]),
)
