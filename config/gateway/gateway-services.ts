import {
  type MaybePromise,
  type OperatorRegistry,
  optional,
  service,
  settingsOf,
} from '../../core/contract/index.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { ServiceRegistry } from '../../core/pipeline/services.ts'
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
import type { RoutingCatalog } from '../../plugins/routing/routing-catalog.ts'
import type { RulesFileEndpoints } from '../../plugins/rules/plugin.ts'
import type { RuleScopes } from '../../plugins/rules/rule-scopes.ts'
import type { WhatIfThread } from '../../plugins/what-if/thread.ts'
import { Callers, createCallerHistory, createCallerSnapshots } from '../../projections/callers.ts'
import { createPastEventReader } from '../../projections/past-events.ts'
import { GatewayState } from '../../projections/state.ts'
import { CircuitBreakers, createCircuitBreakers } from '../../providers/shared/breaker.ts'
import { createLatencyTracker, LatencyTracker } from '../../providers/shared/latency.ts'
import { createParameterFit } from '../../providers/shared/parameter-fit.ts'
import { Providers } from '../../providers/shared/providers.ts'
import { createTokenCounter, TokenCounter } from '../../providers/shared/token-counter.ts'
import { metricsAddress } from '../settings/metrics-address.ts'
import { isConfigured, type Settings } from '../settings/settings.ts'
import type { ClusterPeer } from './cluster-peer.ts'
import type { State } from './state.ts'

/** What the services of the gateway itself are made of. */
export interface GatewayParts {
  readonly settings: Settings
  readonly state: State
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

/** Creates the services that plugins use besides each other's. Most are created when they are first used. */
export function createGatewayServices(parts: GatewayParts): ServiceRegistry {
  const { settings, state, providers, sharedState, peer } = parts
  const registry = new ServiceRegistry()
  for (const [section, value] of Object.entries(settings)) registry.provide(settingsOf(section), value)
  const breakers = lazy(() => createCircuitBreakers(settings.breaker))
  const latency = lazy(createLatencyTracker)
  const readPastEvents = createPastEventReader(state.log)
  const ledger = lazy(parts.openLedger)
  const learned = lazy(async () => {
    const { createLearnedRouting } = await import('./learned-routing.ts')
    return createLearnedRouting(settings, {
      state,
      catalog: providers.catalog,
      isServed: (provider) => providers.byId.has(provider),
      trainsRouters: parts.process.isPrimary,
      retry: parts.process.retry,
    })
  })
  const kinds = lazy(async () => {
    const { createRuleKinds } = await import('./rule-services.ts')
    return createRuleKinds(settings, parts.operators)
  })
  if (!listsLedger(settings))
    registry.provideLazily(service<Ledger>('ledger'), async () => {
      const { createUnrecordedLedger } = await import('../../plugins/ledger/index.ts')
      return createUnrecordedLedger(await ledger())
    })
  return registry
    .provide(GatewayState, state)
    .provide(Providers, providers)
    .provide(SharedState, sharedState)
    .provide(ProcessServices, parts.process)
    .provide(service<Access>('auth.access'), parts.access)
    .provideLazily(service<LedgerCalls>('ledger.store'), ledger)
    .provide(service<LedgerCluster | undefined>('ledger.peers'), peer?.ledgerCluster)
    .provide(service<MetricsExposure>('metrics.exposure'), exposeMetrics(settings, peer))
    .provideLazily(CircuitBreakers, breakers)
    .provideLazily(LatencyTracker, latency)
    .provideLazily(TokenCounter, () => createTokenCounter(providers.byId))
    .provideLazily(service<RoutingCatalog>('routing.catalog'), () => ({
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
      isUsable: breakers().isUsable,
    }))
    .provideLazily(service<RuleScopes>('rules.scopes'), async () => {
      const { createRuleScopes } = await import('./rule-services.ts')
      return createRuleScopes(state, await kinds(), readPastEvents, await parts.openHistoryThread?.())
    })
    .provideLazily(service<RulesFileEndpoints>('rules.file'), async () => {
      const { createRulesFileEndpoints } = await import('../../plugins/rules-file/endpoints.ts')
      const budgets = {
        async catchUp(owned: OwnedBudget) {
          const { budget } = await registry.resolve({ budget: optional(service<Budgets>('budget')) })
          await budget?.catchUp(owned)
        },
      }
      return createRulesFileEndpoints({ ...state, kinds: await kinds(), budgets })
    })
    .provideLazily(Callers, async () => {
      const { readRoutersAt } = await import('../../plugins/learned-routing/active-routers.ts')
      const routers = { live: state.routers, at: readRoutersAt }
      return {
        snapshot: createCallerSnapshots(state),
        at: createCallerHistory(state.log, readPastEvents, state.subscription, state.policies, routers),
      }
    })
    .provideLazily(
      service<LearnedRoutingServices | undefined>('routers.deciding'),
      async () => (await learned()).deciding,
    )
    .provideLazily(service<RoutersPluginServices>('routers.training'), async () => (await learned()).training)
    .provideLazily(service<RatingImporting>('feedback.importing'), async () => {
      const { createRatingImport } = await import('./rating-import.ts')
      return createRatingImport((await learned()).featureSecret, providers.catalog)
    })
    .provideLazily(service<WhatIfThread>('what-if.thread'), async () => {
      const { openWhatIfThread } = await import('./what-if-thread.ts')
      return openWhatIfThread(settings, providers.catalog, state.logId, parts.pluginFolder)
    })
}

/** Services that `createGatewayServices` provides, besides the sections of the settings. */
const GATEWAY_SERVICES: ReadonlySet<string> = new Set([
  ...[
    'state',
    'providers',
    'shared-state',
    'process',
    'circuit-breakers',
    'latency',
    'token-counter',
    'callers',
  ],
  ...['auth.access', 'ledger.store', 'ledger.peers', 'metrics.exposure', 'routing.catalog'],
  ...[
    'rules.scopes',
    'rules.file',
    'routers.deciding',
    'routers.training',
    'feedback.importing',
    'what-if.thread',
  ],
])

/** Whether plugins may use a service that no plugin provides. */
export function isGatewayService(name: string, settings: Pick<Settings, 'plugins'>): boolean {
  if (name === 'ledger') return !listsLedger(settings)
  return GATEWAY_SERVICES.has(name) || name.startsWith('settings.')
}

function listsLedger({ plugins }: Pick<Settings, 'plugins'>): boolean {
  return plugins.some(({ use }) => use === 'ledger')
}

/** In a cluster, the primary serves the separate metrics address. */
function exposeMetrics(settings: Settings, peer: ClusterPeer | undefined): MetricsExposure {
  const own = metricsAddress(settings)
  return { exposedAt: peer && own ? 'none' : (own ?? 'main'), sharedPage: peer?.metricsPage }
}
