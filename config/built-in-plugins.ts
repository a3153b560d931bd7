import type { OperatorRegistry, Plugin } from '../core/contract/index.ts'
import type { RuleKinds } from '../plugins/audit/diff-rules.ts'
import { createAudit } from '../plugins/audit/plugin.ts'
import { requireAdminKey } from '../plugins/auth/authenticate.ts'
import type { FailedKeys } from '../plugins/auth/failed-keys.ts'
import { createAuth } from '../plugins/auth/plugin.ts'
import { createDecorate } from '../plugins/decorate/plugin.ts'
import { createDispatch } from '../plugins/dispatch/plugin.ts'
import { createFirewall } from '../plugins/firewall/plugin.ts'
import { firewallRuleKind } from '../plugins/firewall/rule-kind.ts'
import { createMetrics } from '../plugins/metrics/plugin.ts'
import { createModels } from '../plugins/models/plugin.ts'
import { createOpenApi } from '../plugins/openapi/plugin.ts'
import { createPlan } from '../plugins/plan/plugin.ts'
import { createRateLimit } from '../plugins/rate-limit/plugin.ts'
import { createResponses } from '../plugins/responses/plugin.ts'
import { createRouting } from '../plugins/routing/plugin.ts'
import type { RoutingCatalog } from '../plugins/routing/routing-catalog.ts'
import { createRoutingRuleKind } from '../plugins/routing/rule-kind.ts'
import type { RuleCommandSet } from '../plugins/rules/batch.ts'
import { createRules } from '../plugins/rules/plugin.ts'
import { createRuleCommands } from '../plugins/rules/rule-commands.ts'
import { createTrace } from '../plugins/trace/plugin.ts'
import { createCallerSnapshots, createHistory } from '../projections/history.ts'
import { createCircuitBreakers } from '../providers/shared/breaker.ts'
import { createCatalog } from '../providers/shared/catalog.ts'
import { createLatency } from '../providers/shared/latency.ts'
import type { ClusterPeer } from './cluster/cluster-peer.ts'
import type { Providers } from './providers.ts'
import { metricsAddress } from './settings/metrics-address.ts'
import type { Settings } from './settings/settings.ts'
import { readVersion } from './settings/shipped-files.ts'
import type { State } from './state.ts'

/** The plugins that come with the gateway, by name, whether the settings list them or not. */
export function createBuiltInPlugins(
  settings: Settings,
  state: State,
  providers: Providers,
  vocabulary: OperatorRegistry,
  failedKeys: FailedKeys,
  colleagues: ClusterPeer | undefined,
): ReadonlyMap<string, Plugin> {
  const kinds: RuleKinds = { routing: createRoutingRuleKind(vocabulary), firewall: firewallRuleKind }
  const rulesNow = (userId: number) => () => state.rules.of(userId)
  const desks: RuleCommandSet = {
    routing: (userId, rules) => createRuleCommands(kinds.routing, rules ?? rulesNow(userId), userId),
    firewall: (userId, rules) => createRuleCommands(kinds.firewall, rules ?? rulesNow(userId), userId),
  }
  const past = createHistory(state.log, state.live)
  const health = createCircuitBreakers(settings.breaker)
  const latency = createLatency()
  const routingCatalog: RoutingCatalog = {
    catalog: createCatalog(settings.models, (provider) => providers.byId.has(provider)),
    weights: settings.modes,
    latencyOf: latency.expect,
    capabilitiesOf: (provider) => providers.byId.get(provider)?.capabilities,
    isUsable: health.isUsable,
  }
  const adminGuard = settings.admin_key ? requireAdminKey(settings.admin_key, failedKeys) : undefined
  const plugins = [
    createAuth({
      accounts: state.accounts,
      commands: state.accountCommands,
      failedKeys,
      adminGuard,
    }),
    createRateLimit(settings.rate_limits, {
      redisUrl: settings.redis_url ?? undefined,
      shared: colleagues?.counter,
    }),
    createPlan(),
    createTrace(colleagues?.records),
    createFirewall({ ...state, history: past, createCommands: desks.firewall }),
    createRouting({
      ...state,
      history: past,
      createCommands: desks.routing,
      routingCatalog,
      providers: providers.known,
    }),
    createDispatch({ providers: providers.byId, circuitBreakers: health, latency }),
    createDecorate(),
    createRules(desks, state),
    createResponses(state.log, settings.responses.keep_days),
    createModels(routingCatalog),
    createAudit({ ...state, past, desks, kinds, pin: createCallerSnapshots(state.accounts, state.rules) }),
    createMetrics({
      live: state.live,
      health,
      providers: providers.known,
      adminGuard,
      place: colleagues && metricsAddress(settings) ? 'none' : (metricsAddress(settings) ?? 'main'),
      sharedPage: colleagues?.metricsPage,
    }),
    createOpenApi({
      version: readVersion(),
      fields: { routing: kinds.routing.fields, firewall: kinds.firewall.fields },
      direct: { host: settings.host, port: settings.route_port },
    }),
  ]
  return new Map(plugins.map((plugin) => [plugin.name, plugin]))
}
