import type { OperatorRegistry, Plugin } from '../../core/contract/index.ts'
import { createFormChooser } from '../../core/dialects/response-form.ts'
import { RequestsInFlight } from '../../core/http/requests-in-flight.ts'
import { createOperatorRegistry } from '../../core/pipeline/operator-registry.ts'
import { createMemorySharedState } from '../../core/shared-state/memory.ts'
import type { SharedState } from '../../core/shared-state/shared-state.ts'
import { resolveAllowedModel } from '../../core/util/allowed-models.ts'
import type { RuleKinds } from '../../plugins/audit/diff-rules.ts'
import type { HistoryThread } from '../../plugins/audit/history-thread.ts'
import { createAudit } from '../../plugins/audit/plugin.ts'
import type { AccessLog } from '../../plugins/auth/access-log.ts'
import type { AuthFailureLimiter } from '../../plugins/auth/auth-failures.ts'
import { createAuth } from '../../plugins/auth/plugin.ts'
import type { Sessions } from '../../plugins/auth/sessions.ts'
import type { BudgetHooks } from '../../plugins/budget/budget-commands.ts'
import { createBudget } from '../../plugins/budget/plugin.ts'
import { createCache } from '../../plugins/cache/plugin.ts'
import { createConsole } from '../../plugins/console/plugin.ts'
import { createDecorate } from '../../plugins/decorate/plugin.ts'
import { createDispatch } from '../../plugins/dispatch/plugin.ts'
import { createFeedback } from '../../plugins/feedback/plugin.ts'
import { createFirewall } from '../../plugins/firewall/plugin.ts'
import { createFirewallRuleKind } from '../../plugins/firewall/rule-kind.ts'
import { createGuardrailWebhook } from '../../plugins/guardrail-webhook/plugin.ts'
import { readRoutersAt } from '../../plugins/learned-routing/past-routers.ts'
import { PendingRecords } from '../../plugins/ledger/pending-records.ts'
import { createLedgerPlugin } from '../../plugins/ledger/plugin.ts'
import { createLedgerUnavailableError } from '../../plugins/ledger/reader.ts'
import type { LedgerCalls } from '../../plugins/ledger/store/methods.ts'
import { createMessages } from '../../plugins/messages/plugin.ts'
import { createMetrics } from '../../plugins/metrics/plugin.ts'
import { createModels } from '../../plugins/models/plugin.ts'
import { createOpenApi } from '../../plugins/openapi/plugin.ts'
import { createOverview } from '../../plugins/overview/plugin.ts'
import { createPlan } from '../../plugins/plan/plugin.ts'
import { createPolicies } from '../../plugins/policies/plugin.ts'
import { createRateLimit } from '../../plugins/rate-limit/plugin.ts'
import { createReasoning } from '../../plugins/reasoning/plugin.ts'
import { createResponses } from '../../plugins/responses/plugin.ts'
import { createRouting } from '../../plugins/routing/plugin.ts'
import type { RoutingCatalog } from '../../plugins/routing/routing-catalog.ts'
import { createRoutingRuleKind } from '../../plugins/routing/rule-kind.ts'
import { createRules } from '../../plugins/rules/plugin.ts'
import { createRulesFileEndpoints } from '../../plugins/rules-file/endpoints.ts'
import type { CopyHooks } from '../../plugins/shadow/copy-hooks.ts'
import { createShadow } from '../../plugins/shadow/plugin.ts'
import { createTracing } from '../../plugins/tracing/plugin.ts'
import { createWhatIf } from '../../plugins/what-if/plugin.ts'
import { createCallerHistory, createCallerSnapshots } from '../../projections/callers.ts'
import { createPastEventReader } from '../../projections/past-events.ts'
import { createCircuitBreakers } from '../../providers/shared/breaker.ts'
import { createCatalog } from '../../providers/shared/catalog.ts'
import { createLatencyTracker } from '../../providers/shared/latency.ts'
import { createParameterFit } from '../../providers/shared/parameter-fit.ts'
import { createTokenCounter } from '../../providers/shared/token-counter.ts'
import { metricsAddress } from '../settings/metrics-address.ts'
import { isConfigured, type Settings } from '../settings/settings.ts'
import { readVersion, shippedFile } from '../settings/shipped-files.ts'
import type { ClusterPeer } from './cluster-peer.ts'
import { createLearnedRouting } from './learned-routing.ts'
import type { Providers } from './providers.ts'
import { createRatingImport } from './rating-import.ts'
import { createRuleServices } from './rule-services.ts'
import type { State } from './state.ts'
import { openWhatIfThread } from './what-if-thread.ts'

/** What built-in plugins depend on. */
export interface BuiltInServices {
  readonly state: State
  readonly ledger: LedgerCalls
  readonly providers: Pick<Providers, 'byId' | 'known' | 'catalog' | 'isAvailable' | 'sandboxUrl'>
  readonly operators: OperatorRegistry
  readonly authFailures: AuthFailureLimiter
  readonly accessLog: Pick<AccessLog, 'reportPrompts' | 'reportRatings'>
  readonly sessions: Sessions
  readonly sharedState: Pick<SharedState, 'counters' | 'reservations'>
  /** The folder from which plugin packages are resolved. Default: the working directory. */
  readonly pluginFolder?: string
  /** Default: none; long histories are read in this thread, too. */
  readonly historyThread?: HistoryThread | undefined
  /** Repeats a call while the event log is unavailable, until the start is cancelled. */
  retry(run: () => Promise<void>): Promise<void>
  /** Whether this process trains routers by schedule. Default: no. */
  readonly trainsRouters?: boolean
  /** Aborts when the gateway begins to stop. Default: never. */
  readonly stopping?: AbortSignal
  /** Default: none, since no requests are served. */
  readonly requests?: RequestsInFlight
  /** Undefined in a single process. */
  readonly cluster?: ClusterPeer | undefined
}

function throwLedgerUnavailable(cause: unknown): never {
  throw createLedgerUnavailableError('Requests cannot be read at the moment. Retry later.', cause)
}

/** Creates all built-in plugins by name, whether the settings list them or not. */
export function createBuiltInPlugins(
  settings: Settings,
  services: BuiltInServices,
): ReadonlyMap<string, Plugin> {
  const { state, ledger, providers, operators, authFailures, accessLog, sharedState, cluster } = services
  const { log, subscription, accounts, rules, groups, policies, ids, writer, evidence } = state
  const { evaluate_responses: evaluatesResponses } = settings.firewall
  const kinds: RuleKinds = {
    routing: createRoutingRuleKind(operators),
    firewall: createFirewallRuleKind(evaluatesResponses),
  }
  const readPastEvents = createPastEventReader(log)
  const ruleServices = createRuleServices(state, kinds, readPastEvents, services.historyThread)
  const { commands: ruleCommands } = ruleServices.own
  const readCallerAt = createCallerHistory(log, readPastEvents, subscription, policies, {
    live: state.routers,
    at: readRoutersAt,
  })
  const snapshotCaller = createCallerSnapshots(state)
  const breakers = createCircuitBreakers(settings.breaker)
  const latency = createLatencyTracker()
  const tokenCounter = createTokenCounter(providers.byId)
  const routingCatalog: RoutingCatalog = {
    catalog: providers.catalog,
    weights: settings.modes,
    modeAliases: settings.modeAliases,
    latencyOf: latency.estimateMs,
    capabilitiesOf: (provider) => providers.byId.get(provider)?.capabilities,
    missingKeyOf(id) {
      const row = settings.providers[id]
      return row && !isConfigured(row) ? row.key_variable : undefined
    },
    fitParameters: createParameterFit((provider) => providers.byId.get(provider)),
    readsAnthropicContent: (provider) => providers.byId.get(provider)?.readsAnthropicContent === true,
    isUsable: breakers.isUsable,
  }
  const pending = new PendingRecords()
  const [copies, budgets]: [CopyHooks, BudgetHooks] = [{}, {}]
  const rulesFile = createRulesFileEndpoints({ ...state, kinds, budgets })
  const { stopping = new AbortController().signal, requests = new RequestsInFlight() } = services
  const ownMetricsAddress = metricsAddress(settings)
  const chooseForm = createFormChooser(settings.responses.form)
  const settleLedger = async () => {
    await pending.flush()
    await ledger.find('')
  }
  const findRequest = (requestId: string) =>
    pending
      .flush()
      .then(() => ledger.find(requestId))
      .catch(throwLedgerUnavailable)
  const learned = createLearnedRouting(settings, {
    state,
    catalog: providers.catalog,
    isServed: (provider) => providers.byId.has(provider),
    settleLedger,
    trainsRouters: services.trainsRouters ?? false,
    retry: services.retry,
  })
  const importing = createRatingImport(learned.featureSecret, providers.catalog)
  const plugins = [
    createAuth({
      accounts,
      groups,
      streams: state.streams,
      commands: state.accountCommands,
      authFailures,
      rules,
      resolveAllowedModel: (name) => resolveAllowedModel(name, providers.known, providers.catalog.match),
      async lastUse(userId) {
        await pending.flush()
        const keys = await ledger.lastUse(userId)
        return new Map(keys.map(({ key, hour }) => [key, hour]))
      },
      operators: state.operators,
      writer,
      ids,
      history: state.history,
      sessions: services.sessions,
    }),
    createRateLimit(settings.rate_limits, sharedState),
    createPlan(),
    createReasoning(),
    createLedgerPlugin({
      ledger,
      evidence: settings.ledger.evidence,
      pending,
      prompts: {
        recordPrompts: settings.ledger.record_prompts,
        maxPromptChars: settings.ledger.max_prompt_chars,
      },
      accounts,
      groups,
      reportPrompts: accessLog.reportPrompts,
      copies,
      cluster: cluster?.ledgerCluster,
    }),
    createFeedback({ ledger, pending, importing, reportRatings: accessLog.reportRatings }),
    createFirewall({
      ...ruleServices.own,
      kind: kinds.firewall,
      createCommands: ruleCommands.firewall,
      evaluatesResponses,
    }),
    createGuardrailWebhook(settings.guardrail_secret ?? undefined),
    createRouting({
      ...ruleServices.own,
      kind: kinds.routing,
      createCommands: ruleCommands.routing,
      routingCatalog,
      providers: providers.known,
      logId: state.logId,
      learned: learned.deciding,
    }),
    learned.plugin,
    createBudget({ ...state, hooks: budgets }, sharedState, copies, {
      async sumCosts(query) {
        await pending.flush()
        return ledger.sumCosts(query)
      },
      onRecorded: (listener) => pending.onRecorded(listener),
    }),
    createCache(),
    createTracing(readVersion),
    createDispatch(
      { providers: providers.byId, circuitBreakers: breakers, latency },
      { retriesOnTimeout: settings.failover.on_timeout },
    ),
    createShadow({
      routingCatalog,
      providers: providers.byId,
      circuitBreakers: breakers,
      logId: state.logId,
      hooks: copies,
      requests,
    }),
    createDecorate(chooseForm),
    createRules(kinds, ruleCommands, ruleServices.own, rulesFile),
    createResponses(
      log,
      accounts,
      settings.responses.retention_days,
      chooseForm,
      snapshotCaller,
      tokenCounter,
    ),
    createMessages(snapshotCaller, tokenCounter),
    createModels(routingCatalog, providers.known),
    createAudit({
      ...state,
      ...ruleServices.own,
      policyCommands: ruleServices.ofPolicies.commands,
      readCallerAt,
      evidence,
      snapshotCaller,
      replay: learned.deciding?.replay,
      findRequest,
    }),
    createPolicies({
      accounts,
      groups,
      policies,
      ids,
      writer,
      history: state.history,
      readCallerAt,
      snapshotCaller,
      ruleServices: ruleServices.ofPolicies,
      userRuleServices: ruleServices.ofUsers,
    }),
    createOverview({
      ...state,
      sessions: services.sessions,
      ledger,
      pending,
      evidence,
      kinds,
      userHistory: ruleServices.own.history,
      policyHistory: ruleServices.ofPolicies.history,
      breakers,
      providers: {
        ids: Object.keys(settings.providers),
        isAvailable: providers.isAvailable,
        usesSandbox: providers.sandboxUrl !== undefined,
      },
      stopping,
    }),
    createWhatIf({
      ...state,
      kinds,
      snapshotCaller,
      thread: openWhatIfThread(
        settings,
        providers.catalog,
        state.logId,
        services.pluginFolder ?? process.cwd(),
      ),
      settleLedger,
    }),
    createMetrics({
      live: subscription,
      damagedFiles: state.damagedFiles,
      evidence,
      health: breakers,
      providers: providers.known,
      groups,
      // In a cluster, the primary serves the separate metrics address.
      exposedAt: cluster && ownMetricsAddress ? 'none' : (ownMetricsAddress ?? 'main'),
      sharedPage: cluster?.metricsPage,
    }),
    createConsole(services.sessions, state.operators, shippedFile('dist/plugins/console/static')),
    createOpenApi({
      version: readVersion(),
      direct: { host: settings.host, port: settings.route_port },
    }),
  ]
  return new Map(plugins.map((plugin) => [plugin.name, plugin]))
}

/**
 * Creates all built-in plugins by name for checks of the plugin list. Only their names, order and options may
 * be used: there is no state behind them, so their `setup` fails.
 */
export function declareBuiltInPlugins(settings: Settings): ReadonlyMap<string, Plugin> {
  return createBuiltInPlugins(settings, {
    state: {} as State,
    ledger: {} as LedgerCalls,
    providers: {
      byId: new Map(),
      known: new Set<string>(),
      catalog: createCatalog([]),
      isAvailable: () => false,
      sandboxUrl: undefined,
    },
    operators: createOperatorRegistry(),
    authFailures: {} as AuthFailureLimiter,
    accessLog: {} as AccessLog,
    sessions: {} as Sessions,
    sharedState: createMemorySharedState(),
    retry: (run) => run(),
  })
}
