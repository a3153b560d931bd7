import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { Plugin, Vocabulary } from '../core/contract/index.ts'
import { createApp, createRouteApp } from '../core/http/app.ts'
import { serve } from '../core/http/serve.ts'
import { createAppendMeter } from '../core/log/measure-appends.ts'
import { setUpPlugins } from '../core/pipeline/set-up.ts'
import { createVocabulary } from '../core/pipeline/vocabulary.ts'
import type { Kinds } from '../plugins/audit/kinds.ts'
import { createAudit } from '../plugins/audit/plugin.ts'
import type { FailedKeys } from '../plugins/auth/failed-keys.ts'
import { createAuth } from '../plugins/auth/plugin.ts'
import { requireAdminKey } from '../plugins/auth/require-admin-key.ts'
import { createDecorate } from '../plugins/decorate/plugin.ts'
import { createDispatch } from '../plugins/dispatch/plugin.ts'
import { firewallKind } from '../plugins/firewall/kind.ts'
import { createFirewall } from '../plugins/firewall/plugin.ts'
import { createMetrics } from '../plugins/metrics/plugin.ts'
import { createModels } from '../plugins/models/plugin.ts'
import { createOpenApi } from '../plugins/openapi/plugin.ts'
import { createPlan } from '../plugins/plan/plugin.ts'
import { createRateLimit } from '../plugins/rate-limit/plugin.ts'
import { createResponses } from '../plugins/responses/plugin.ts'
import { createRoutingKind } from '../plugins/routing/kind.ts'
import type { Market } from '../plugins/routing/market.ts'
import { createRouting } from '../plugins/routing/plugin.ts'
import type { Desks } from '../plugins/rules/batch.ts'
import { createRuleDesk } from '../plugins/rules/changes.ts'
import { createRules } from '../plugins/rules/plugin.ts'
import { createTrace } from '../plugins/trace/plugin.ts'
import { createPast } from '../projections/past.ts'
import { createPin } from '../projections/pin.ts'
import { openPluginLedgers } from '../projections/plugin-ledgers.ts'
import { createCatalog } from '../providers/catalog.ts'
import { createHealth } from '../providers/health.ts'
import { createLatency } from '../providers/latency.ts'
import { openFailedKeys } from './failed-keys.ts'
import { metricsAddress } from './metrics-address.ts'
import { openPatiently } from './patience.ts'
import { openProviders, type Providers } from './providers.ts'
import { describeServer } from './server.ts'
import type { Settings } from './settings.ts'
import { openLastingState, type State } from './state.ts'
import { readVersion } from './version.ts'
import type { Colleagues } from './workers/colleagues.ts'
import { LIMITS } from './workers/messages.ts'

/** A gateway that serves. */
export interface Gateway {
  readonly baseUrl: string
  /** Where `POST /route` is. */
  readonly routeBaseUrl: string
  /** Plugin names in running order. */
  readonly plugins: readonly string[]
  readonly sandboxUrl: string | undefined
  readonly state: State
  /** Takes nothing new, lets running requests end, then lets go of everything. */
  stop(): Promise<void>
  /** The same, while another process takes its place: connections that are kept alive end as on any other day, until it is told to stop. */
  retire(): Promise<void>
}

/**
 * Wires everything together, in the order in which it is needed, and listens once it can serve: when the event log is away, once it
 * is back. Rejects when the signal aborts before. As one of several workers it works together with its colleagues.
 */
export async function startGateway(
  settings: Settings,
  logger: Logger,
  signal: AbortSignal,
  colleagues?: Colleagues,
): Promise<Gateway> {
  const opened: { close(): Promise<void> }[] = []
  let closed: Promise<void> | undefined
  const closeAll = () => {
    closed ??= closeInTurn(opened.toReversed())
    return closed
  }
  try {
    const metrics = new Registry()
    const patiently = (run: () => Promise<void>) => openPatiently(run, logger, signal)
    const state = await openLastingState(settings, logger, {
      signal,
      equip: createAppendMeter(metrics),
      takesSnapshots: colleagues?.takesSnapshots ?? true,
      spread: colleagues?.spread,
    })
    opened.push(state)
    const providers = await openProviders(settings, colleagues?.sandboxUrl)
    opened.push(providers)
    const vocabulary = createVocabulary()
    const failedKeys = openFailedKeys(settings, metrics, logger)
    opened.push(failedKeys)
    const plugins = builtInPlugins(settings, state, providers, vocabulary, failedKeys, colleagues)
    const host = {
      log: state.log,
      logger,
      vocabulary,
      metrics,
      openEvents: (plugins: readonly Plugin[]) => openPluginLedgers(plugins, { ...state, logger, patiently }),
    }
    const pipeline = await setUpPlugins(settings.plugins, plugins, process.cwd(), host)
    opened.push(pipeline)

    let draining = false
    const parts = {
      steps: pipeline.steps,
      pin: createPin(state.accounts, state.rules),
      bodyLimit: settings.limits.body_bytes,
      cors: settings.cors,
      logger,
      whyNotReady: () => (draining ? 'the process is shutting down' : undefined),
      logState: state.live.state,
    }
    await colleagues?.join({
      async reach(position) {
        if (state.live.position() < position) state.log.look?.()
        await state.live.until(() => state.live.position() >= position, LIMITS.spread)
      },
      metrics: () => metrics.getMetricsAsJSON(),
    })
    await colleagues?.takePorts()
    const server = describeServer(settings, logger)
    const main = await serve(createApp(parts), settings.host, settings.port, server)
    opened.push({ close: () => main.stop(settings.timeouts.drain_ms) })
    const direct = await serve(createRouteApp(parts), settings.host, settings.route_port, server)
    opened.push({ close: () => direct.stop(settings.timeouts.drain_ms) })
    const drain = async (lingerMs: number) => {
      const { drain_ms } = settings.timeouts
      await Promise.all([main.stop(drain_ms, lingerMs), direct.stop(drain_ms, lingerMs)])
      await closeAll()
    }
    return {
      baseUrl: main.url,
      routeBaseUrl: direct.url,
      plugins: pipeline.steps.map(({ plugin }) => plugin.name),
      sandboxUrl: providers.sandboxUrl,
      state,
      stop() {
        draining = true
        return drain(0)
      },
      retire: () => drain(settings.timeouts.drain_ms),
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

async function closeInTurn(parts: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.close()
}

function builtInPlugins(
  settings: Settings,
  state: State,
  providers: Providers,
  vocabulary: Vocabulary,
  failedKeys: FailedKeys,
  colleagues: Colleagues | undefined,
): ReadonlyMap<string, Plugin> {
  const kinds: Kinds = { routing: createRoutingKind(vocabulary), firewall: firewallKind }
  const rulesNow = (userId: number) => () => state.rules.of(userId)
  const desks: Desks = {
    routing: (userId, rules) => createRuleDesk(kinds.routing, rules ?? rulesNow(userId), userId),
    firewall: (userId, rules) => createRuleDesk(kinds.firewall, rules ?? rulesNow(userId), userId),
  }
  const past = createPast(state.log, state.live)
  const health = createHealth(settings.breaker)
  const latency = createLatency()
  const { vendors } = providers
  const market: Market = {
    catalog: createCatalog(settings.models, (provider) => vendors.has(provider)),
    weights: settings.modes,
    latencyOf: latency.expect,
    capabilitiesOf: (provider) => vendors.get(provider)?.capabilities,
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
    createFirewall({ ...state, past, openDesk: desks.firewall }),
    createRouting({ ...state, past, openDesk: desks.routing, market, providers: providers.known }),
    createDispatch({ vendors, health, latency }),
    createDecorate(),
    createRules(desks, state),
    createResponses(state.log, settings.responses.keep_days),
    createModels(market),
    createAudit({ ...state, past, desks, kinds, pin: createPin(state.accounts, state.rules) }),
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
