import {
  type MaybePromise,
  type OperatorRegistry,
  optional,
  type Service,
  service,
  settingsOf,
} from '../../core/contract/index.ts'
import { ServiceRegistry } from '../../core/pipeline/plugin-order.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { SharedState } from '../../core/shared-state/shared-state.ts'
import { lazy } from '../../core/util/lazy.ts'
import type { HistoryThread } from '../../plugins/audit/history-thread.ts'
import type { Access } from '../../plugins/auth/index.ts'
import type { Budgets } from '../../plugins/budget/index.ts'
import type { OwnedBudget } from '../../plugins/budget/owned-budget.ts'
import type { RatingImporting } from '../../plugins/feedback/plugin.ts'
import type { LearnedRoutingServices } from '../../plugins/learned-routing/connect.ts'
import type { RoutersPluginServices } from '../../plugins/learned-routing/plugin.ts'
import type { Ledger, LedgerCluster } from '../../plugins/ledger/index.ts'
import type { LedgerCalls } from '../../plugins/ledger/store/methods.ts'
import type { MetricsExposure } from '../../plugins/metrics/plugin.ts'
import type { CatalogueSources } from '../../plugins/models/catalogue-endpoints.ts'
import type { NodeProcesses } from '../../plugins/overview/node-endpoints.ts'
import type { ProviderChecks } from '../../plugins/overview/provider-endpoints.ts'
import type { RoutingCatalog } from '../../plugins/routing/routing-catalog.ts'
import type { RulesFileEndpoints } from '../../plugins/rules/plugin.ts'
import type { RuleScopes } from '../../plugins/rules/rule-scopes.ts'
import type { WhatIfThread } from '../../plugins/what-if/thread.ts'
import { Callers, createCallerHistory, createCallerSnapshots } from '../../projections/callers.ts'
import { createPastEventReader } from '../../projections/past-events.ts'
import { GatewayState } from '../../projections/state.ts'
import { meetsRequirement } from '../../providers/shared/attributes.ts'
import { CircuitBreakers, createCircuitBreakers } from '../../providers/shared/circuit.ts'
import { createLatencyTracker, LatencyTracker } from '../../providers/shared/latency.ts'
import { createParameterFit } from '../../providers/shared/parameter-fit.ts'
import { Providers } from '../../providers/shared/providers.ts'
import { createTokenCounter, TokenCounter } from '../../providers/shared/token-counter.ts'
import { isConfigured, metricsAddress, type Settings } from '../settings/settings.ts'
import type { ClusterPeer } from './cluster-peer.ts'
import { describeProcess } from './describe-process.ts'
import type { OpenState } from './state.ts'

/** What the services of the gateway itself are made of. */
export interface GatewayParts {
  readonly settings: Settings
  readonly state: OpenState
  readonly providers: Providers
  readonly operators: OperatorRegistry
  readonly sharedState: SharedState
  readonly process: ProcessServices
  readonly access: Access
  openLedger(): MaybePromise<LedgerCalls>
  /** The folder from which plugin packages are resolved. */
  readonly pluginFolder: string
  /** Default: none; long histories are read in this thread, too. */
  openHistoryThread?(): Promise<HistoryThread | undefined>
  /** Undefined in a single process. */
  readonly peer?: ClusterPeer | undefined
}

/** What several services are made of. */
type Shared = GatewayParts & ReturnType<typeof createShared>

function createShared(parts: GatewayParts) {
  const { settings, state, providers, process } = parts
  return {
    breakers: lazy(() =>
      createCircuitBreakers(
        settings.breaker,
        undefined,
        (provider) => providers.byId.get(provider)?.deployments?.members.length ?? 0,
      ),
    ),
    latency: lazy(createLatencyTracker),
    readPastEvents: createPastEventReader(state.log),
    ledger: lazy(parts.openLedger),
    learned: lazy(async () => {
      const { createLearnedRouting } = await import('./learned-routing.ts')
      return createLearnedRouting(settings, {
        state,
        catalog: providers.catalog,
        isServed: (provider) => providers.byId.has(provider),
        trainsRouters: process.isPrimary,
        retry: process.retry,
      })
    }),
    kinds: lazy(async () => {
      const { createRuleKinds } = await import('./rule-services.ts')
      return createRuleKinds(settings, parts.operators)
    }),
  }
}

interface GivenService {
  readonly name: string
  create(shared: Shared, registry: ServiceRegistry): unknown
}

function given<Offered>(
  { name }: Service<Offered>,
  create: (shared: Shared, registry: ServiceRegistry) => MaybePromise<Offered>,
): GivenService {
  return { name, create }
}

/** The services that plugins use besides each other's and the sections of the settings. */
const GIVEN: readonly GivenService[] = [
  given(GatewayState, ({ state }) => state),
  given(Providers, ({ providers }) => providers),
  given(SharedState, ({ sharedState }) => sharedState),
  given(ProcessServices, ({ process }) => process),
  given(service<Access>('auth.access'), ({ access }) => access),
  given(service<LedgerCalls>('ledger.store'), ({ ledger }) => ledger()),
  given(service<LedgerCluster | undefined>('ledger.peers'), ({ peer }) => peer?.ledgerCluster),
  given(service<MetricsExposure>('metrics.exposure'), exposeMetrics),
  given(CircuitBreakers, ({ breakers }) => breakers()),
  given(LatencyTracker, ({ latency }) => latency()),
  given(TokenCounter, ({ providers }) => createTokenCounter(providers.byId)),
  given(service<RoutingCatalog>('routing.catalog'), createRoutingCatalog),
  given(service<RuleScopes>('rules.scopes'), async ({ state, kinds, readPastEvents, openHistoryThread }) => {
    const { createRuleScopes } = await import('./rule-services.ts')
    return createRuleScopes(state, await kinds(), readPastEvents, await openHistoryThread?.())
  }),
  given(service<RulesFileEndpoints>('rules.file'), async ({ state, kinds }, registry) => {
    const { createRulesFileEndpoints } = await import('../../plugins/rules-file/endpoints.ts')
    const budgets = {
      async catchUp(owned: OwnedBudget) {
        const { budget } = await registry.resolve({ budget: optional(service<Budgets>('budget')) })
        await budget?.catchUp(owned)
      },
    }
    return createRulesFileEndpoints({ ...state, kinds: await kinds(), budgets })
  }),
  given(Callers, async ({ state, readPastEvents }) => {
    const { readRoutersAt } = await import('../../plugins/learned-routing/active-routers.ts')
    const routers = { live: state.routers, at: readRoutersAt }
    return {
      snapshot: createCallerSnapshots(state),
      at: createCallerHistory(state.log, readPastEvents, state.subscription, state.policies, routers),
    }
  }),
  given(
    service<LearnedRoutingServices | undefined>('routers.deciding'),
    async ({ learned }) => (await learned()).deciding,
  ),
  given(
    service<RoutersPluginServices>('routers.training'),
    async ({ learned }) => (await learned()).training,
  ),
  given(service<RatingImporting>('feedback.importing'), async ({ learned, providers }) => {
    const { createRatingImport } = await import('./rating-import.ts')
    return createRatingImport((await learned()).featureSecret, providers.catalog)
  }),
  given(service<CatalogueSources>('models.sources'), async ({ settings }) => {
    const { createCatalogueSources } = await import('./catalogue-sources.ts')
    return createCatalogueSources(settings)
  }),
  given(service<NodeProcesses>('nodes.processes'), ({ settings, state, process, peer }) => ({
    eventLog: settings.eventstore_url ? 'server' : 'embedded',
    ledger: settings.ledger_url ? 'server' : 'embedded',
    sharesCounts: Boolean(settings.redis_url),
    async read() {
      if (peer) return peer.listProcesses()
      const figures = describeProcess(state.subscription, process.requests)
      return [{ role: 'single', number: null, state: 'serving', is_leader: true, figures }]
    },
  })),
  given(service<ProviderChecks>('providers.checks'), ({ settings }) => ({
    async check(provider) {
      const { checkEndpoints } = await import('./provider-checks.ts')
      return checkEndpoints(settings, [provider])
    },
  })),
  given(service<WhatIfThread>('what-if.thread'), async ({ settings, providers, state, pluginFolder }) => {
    const { openWhatIfThread } = await import('./what-if-thread.ts')
    return openWhatIfThread(settings, providers.catalog, state.logId, pluginFolder)
  }),
]

/** Given in place of the plugin `ledger` where that is not listed. */
const UNRECORDED_LEDGER = given(service<Ledger>('ledger'), async ({ ledger }) => {
  const { createUnrecordedLedger } = await import('../../plugins/ledger/index.ts')
  return createUnrecordedLedger(await ledger())
})

function listGiven(settings: Pick<Settings, 'plugins'>): readonly GivenService[] {
  const listsLedger = settings.plugins.some(({ use }) => use === 'ledger')
  return listsLedger ? GIVEN : [...GIVEN, UNRECORDED_LEDGER]
}

/** Creates the services that plugins use besides each other's, each when it is first used. */
export function createGatewayServices(parts: GatewayParts): ServiceRegistry {
  const { settings } = parts
  const shared = { ...parts, ...createShared(parts) }
  const registry = new ServiceRegistry()
  for (const [section, value] of Object.entries(settings)) registry.provide(settingsOf(section), value)
  for (const { name, create } of listGiven(settings))
    registry.provideLazily({ name }, () => create(shared, registry))
  return registry
}

/** Whether plugins may use a service that no plugin provides. */
export function isGatewayService(name: string, settings: Pick<Settings, 'plugins'>): boolean {
  return name.startsWith('settings.') || listGiven(settings).some((service) => service.name === name)
}

function createRoutingCatalog({ settings, providers, latency, breakers }: Shared): RoutingCatalog {
  return {
    catalog: providers.catalog,
    weights: settings.modes,
    modeAliases: settings.modeAliases,
    latencyOf: latency().estimateMs,
    capabilitiesOf: (provider) => providers.byId.get(provider)?.capabilities,
    missingKeyOf(id) {
      const row = settings.providers[id]
      return row && !isConfigured(row) ? row.key_variable : undefined
    },
    fitParameters: createParameterFit((provider) => providers.byId.get(provider)),
    reads: (provider, content) => providers.byId.get(provider)?.reads?.includes(content) === true,
    meets: (requirement, target) =>
      meetsRequirement(requirement, target, providers.byId.get(target.provider)),
    isUsable: breakers().isUsable,
  }
}

/** In a cluster, the primary serves the separate metrics address. */
function exposeMetrics({ settings, peer }: Pick<GatewayParts, 'settings' | 'peer'>): MetricsExposure {
  const own = metricsAddress(settings)
  return { exposedAt: peer && own ? 'none' : (own ?? 'main'), sharedPage: peer?.metricsPage }
}
