import type { IncomingHttpHeaders } from 'node:http'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import { type EventLog, optional, type Plugin } from '../../core/contract/index.ts'
import { withAppendMetrics } from '../../core/event-log/instrument-log.ts'
import { BodyQuota } from '../../core/http/body-quota.ts'
import { createClientAddressResolver } from '../../core/http/client-address.ts'
import { RequestsInFlight } from '../../core/http/client-connection.ts'
import { KeepAlives } from '../../core/http/send-response.ts'
import { buildSecurityHeaders } from '../../core/http/server/default-headers.ts'
import { listen, type ServerOptions } from '../../core/http/server/hardened-server.ts'
import { createSocketServer, SocketEndpoint } from '../../core/http/server/socket-server.ts'
import { hasThirdPartyMiddleware } from '../../core/pipeline/admission.ts'
import { createAdapterRegistry, createOperatorRegistry } from '../../core/pipeline/registries.ts'
import { setUpPlugins } from '../../core/pipeline/set-up.ts'
import { retryWhileUnavailable } from '../../core/threads/retry.ts'
import { readVersion } from '../../core/util/package-folder.ts'
import type { QuotaLimits } from '../../core/util/shared-quota.ts'
import { createWarmUp } from '../../core/util/warm-up.ts'
import { createAccessLog } from '../../plugins/auth/access-log.ts'
import { createAuthFailureLimiter, createAuthFailureMetric } from '../../plugins/auth/auth-failures.ts'
import { createIssuedTokens } from '../../plugins/auth/issued-tokens.ts'
import { createHolders } from '../../plugins/auth/session-holders.ts'
import { createSessionSecret } from '../../plugins/auth/session-secret.ts'
import { createSessions } from '../../plugins/auth/sessions.ts'
import { createCallerSnapshots } from '../../projections/callers.ts'
import { openPluginEventStores } from '../../projections/runtime/plugin-event-stores.ts'
import type { Settings } from '../settings/settings.ts'
import { BUILT_IN_PLUGINS } from './built-in-plugins.ts'
import type { ClusterPeer } from './cluster-peer.ts'
import { describeProcess } from './describe-process.ts'
import { registerLogMetrics } from './log-metrics.ts'
import { openSharedState } from './shared-state.ts'
import { type OpenState, openLongRunningState } from './state.ts'
import { watchDescriptors } from './watch-descriptors.ts'
import { watchModels } from './watch-models.ts'

/** The addresses and plugins of a gateway that serves. */
export interface ServingAddresses {
  readonly baseUrl: string
  /** Base URL of `POST /route`. */
  readonly routeBaseUrl: string
  /** Plugin names in running order. */
  readonly plugins: readonly string[]
}

/** A running gateway. */
export interface Gateway extends ServingAddresses {
  /** Undefined when a provider is configured. */
  readonly sandboxUrl: string | undefined
  /** Whether anybody can call endpoints for operators at this moment. */
  readonly hasOperators: () => boolean
  readonly state: OpenState
  /**
   * Stops accepting connections, waits for requests in flight up to `timeouts.drain_ms`, interrupts those
   * that remain, and closes everything once their records and costs are known.
   */
  stop(): Promise<void>
  /**
   * As `stop`, for a worker whose replacement already serves: idle keep-alive connections stay open for their
   * usual timeout, up to `timeouts.drain_ms`, unless `stop` is called meanwhile.
   */
  drain(): Promise<void>
}

/** What embedding programs and tests may supply themselves. */
export interface StartOptions {
  /** Connects this process to the other workers of a cluster. */
  readonly peer?: ClusterPeer | undefined
  /** The folder from which plugin packages are resolved. Default: the working directory. */
  readonly pluginFolder?: string
  /** Opens the event log in place of the one that the settings name. */
  readonly openLog?: () => Promise<EventLog>
}

/**
 * Creates all parts of the gateway in dependency order and listens once it can serve. Retries while the event
 * log is unavailable. Rejects if the signal aborts before it serves.
 */
export async function startGateway(
  settings: Settings,
  logger: Logger,
  signal: AbortSignal,
  { peer, pluginFolder = process.cwd(), openLog }: StartOptions = {},
): Promise<Gateway> {
  const opened: { close(): Promise<void> }[] = []
  const stopping = new AbortController()
  let closed: Promise<void> | undefined
  const closeAll = () => {
    closed ??= closeInOrder(opened.toReversed())
    return closed
  }
  try {
    const metrics = new Registry()
    registerLogMetrics(metrics)
    const stopWatching = watchDescriptors(logger)
    opened.push({ close: async () => stopWatching() })
    const retry = (run: () => Promise<void>) => retryWhileUnavailable(run, logger, signal)
    const loading = importServingModules(settings.plugins)
    const state = await openLongRunningState(settings, logger, {
      signal,
      openLog,
      decorateLog: withAppendMetrics(metrics),
      takesSnapshots: peer?.takesSnapshots ?? true,
      broadcastPosition: peer?.broadcastPosition,
    })
    opened.push(state)
    const {
      ADAPTERS,
      createChatAdapter,
      openProviders,
      createGatewayServices,
      requireOperator,
      createApp,
      createRouteApp,
    } = await loading
    const providers = await openProviders(settings, peer?.sandboxUrl)
    opened.push(providers)
    opened.push(watchModels(settings, providers, logger))
    const sharedState = await openSharedState(settings, peer, logger)
    opened.push(sharedState)
    const operators = createOperatorRegistry()
    const requests = new RequestsInFlight()
    const adapters = createAdapterRegistry(ADAPTERS, createChatAdapter)
    const resolveAddress = createClientAddressResolver(settings.trusted_proxies)
    const authFailures = createAuthFailureLimiter({
      limit: settings.limits.auth_failures_per_minute,
      counters: sharedState.counters('auth-failures'),
      resolveAddress,
      recordOutcome: createAuthFailureMetric(metrics),
      logger,
    })
    const accessLog = createAccessLog({
      writer: state.writer,
      operators: state.operators,
      resolveAddress,
      logger,
    })
    opened.push(accessLog)
    const holders = createHolders({ ...state, adminKey: settings.admin_key })
    const secret = createSessionSecret(settings.data_dir)
    const tokens = createIssuedTokens({ ...state, secret, resolveHolder: holders.resolve })
    const sessions = createSessions({
      secret,
      allowsKeys: settings.identity?.console?.only !== true,
      resolveHolder: holders.resolve,
      operators: state.operators,
      writer: state.writer,
    })
    /** Called while plugins are set up, so it is closed after them. */
    const keepOpen = <Part extends { close(): Promise<void> }>(part: Part): Part => {
      opened.push(part)
      return part
    }
    const registry = createGatewayServices({
      settings,
      state,
      providers,
      operators,
      sharedState,
      process: {
        version: readVersion(),
        stopping: stopping.signal,
        requests,
        isPrimary: peer?.takesSnapshots ?? true,
        retry,
      },
      access: { authFailures, accessLog, sessions, tokens, secret, holders, resolveAddress },
      async openLedger() {
        const { openLedger } = await import('./ledger.ts')
        return keepOpen(await openLedger(settings, state.logId, peer, logger))
      },
      async openHistoryThread() {
        // Another log than that of the settings can only be read in this thread.
        if (openLog) return undefined
        const { openRuleHistoryThread } = await import('./rule-history-thread.ts')
        return keepOpen(openRuleHistoryThread(settings, state.logId))
      },
      pluginFolder,
      peer,
    })
    const hasAdminKeyOrSignIn = Boolean(settings.admin_key || settings.identity?.console)
    /** The first operator may be created while the gateway runs. */
    const hasOperators = () => hasAdminKeyOrSignIn || state.operators.list().length > 0
    const authenticateOperator = requireOperator({
      adminKey: settings.admin_key,
      operators: state.operators,
      groups: state.groups,
      streams: state.streams,
      authFailures,
      accessLog,
      sessions,
      tokens,
    })
    const { log, subscription, writer } = state
    const host = {
      registry,
      log,
      logger,
      operators,
      adapters,
      metrics,
      sharedState,
      costOf: providers.costOf,
      hasOperators,
      pluginTimeoutMs: settings.timeouts.plugin_ms,
      openEvents: (plugins: readonly Plugin[]) =>
        openPluginEventStores(plugins, { log, subscription, writer, logger, retry }),
    }
    const pipeline = await setUpPlugins(settings.plugins, BUILT_IN_PLUGINS, pluginFolder, host)
    opened.push(pipeline)
    providers.connect(adapters.adapters)
    providers.startCredentials()

    let isStopping = false
    const warmUp = createWarmUp()
    opened.push({ close: async () => warmUp.stop() })
    const parts = {
      requests,
      steps: pipeline.steps,
      callers: { snapshot: createCallerSnapshots(state) },
      bodyLimit: settings.limits.body_bytes,
      bodyQuota: new BodyQuota(findBodyLimits(settings)),
      keepAlives: new KeepAlives(settings.timeouts.stream_keep_alive_ms),
      costOf: providers.costOf,
      cors: settings.cors,
      authenticateOperator,
      hasOperators,
      recordRead: accessLog.read,
      findKnownRequest: state.findKnownRequest,
      logger,
      whyNotReady: () => (isStopping ? 'the process is shutting down' : undefined),
      logState: state.subscription.state,
      damagedStreams: () => state.streams.damaged().map(({ stream }) => stream),
      damagedFiles: state.damagedFiles,
      readsDetail,
      onceServing: warmUp.add,
    }
    if (settings.audit.export && peer?.takesSnapshots !== false) {
      const { openAuditExport } = await import('./audit-export.ts')
      const auditExport = openAuditExport(settings, state, logger)
      if (auditExport) opened.push(auditExport)
    }
    await peer?.register({
      async catchUpTo(position, timeoutMs) {
        if (state.subscription.position() < position) state.log.poll?.()
        await state.subscription.until(() => state.subscription.position() >= position, timeoutMs)
      },
      metrics: () => metrics.getMetricsAsJSON(),
      describe: () => describeProcess(state.subscription, requests),
    })
    await peer?.takePorts()
    const serverOptions = {
      ...buildServerOptions(settings, logger),
      exposesHeaders: hasThirdPartyMiddleware(pipeline.steps),
      interruptRequests: () => requests.interrupt(),
      checksHeaders: pipeline.steps.some(({ isBuiltIn }) => !isBuiltIn),
    }
    const { body_bytes: maxBytes } = settings.limits
    const { socket } = await registry.resolve({ socket: optional(SocketEndpoint) })
    const mainOptions = {
      ...serverOptions,
      portVariable: 'PORT',
      ...(socket && { sockets: createSocketServer({ ...socket, maxBytes, cors: settings.cors }) }),
    }
    const main = await listen(createApp(parts), settings.host, settings.port, mainOptions)
    opened.push({ close: () => main.stop(settings.timeouts.drain_ms) })
    const direct = await listen(createRouteApp(parts), settings.host, settings.route_port, {
      ...serverOptions,
      portVariable: 'ROUTE_PORT',
    })
    opened.push({ close: () => direct.stop(settings.timeouts.drain_ms) })
    warmUp.start().catch((err) => logger.error({ err }, 'warm-up after the start failed'))
    const drain = async (lingerMs: number) => {
      stopping.abort()
      const { drain_ms } = settings.timeouts
      const endsAt = performance.now() + lingerMs + drain_ms
      await Promise.all([main.stop(drain_ms, lingerMs), direct.stop(drain_ms, lingerMs)])
      // Copies of requests have no connection. Plugins record what has ended and count its cost.
      await requests.untilEnded(endsAt - performance.now())
      requests.interrupt()
      const remaining = await requests.untilEnded(MAX_RECORDING_MS)
      if (remaining > 0) logger.error({ requests: remaining }, 'requests did not end; they are not recorded')
      await closeAll()
    }
    // V8 shrinks the young generation of an idle process and then grows it by doubling, while requests in
    // flight are promoted to the old generation. In the first second of a burst, a request took half as long
    // again. This factor grows it back in one step. Set earlier, the start would grow it, and 10 MB stay.
    setFlagsFromString('--semi-space-growth-factor=16')
    return {
      baseUrl: main.url,
      routeBaseUrl: direct.url,
      plugins: pipeline.steps.map(({ plugin }) => plugin.name),
      sandboxUrl: providers.sandboxUrl,
      hasOperators,
      state,
      stop() {
        isStopping = true
        return drain(0)
      },
      drain: () => drain(settings.timeouts.drain_ms),
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** How long requests without a connection may take to end at shutdown, in milliseconds. */
const MAX_RECORDING_MS = 3000

/** TokenRouter's SDK throws a TypeError if the error of a 403 is not a string, or in `detail`. */
function readsDetail({ 'user-agent': userAgent }: IncomingHttpHeaders): boolean {
  return userAgent?.startsWith('tokenrouter-node/') === true
}

/** Imports most of the code while the threads of the event log start. */
async function importServingModules(listed: Settings['plugins']) {
  const [adapters, providers, services, operators, app] = await Promise.all([
    import('../../providers/adapters.ts'),
    import('./providers.ts'),
    import('./gateway-services.ts'),
    import('../../plugins/auth/authenticate-operator.ts'),
    import('../../core/pipeline/app.ts'),
    ...listed.map(({ use }) => BUILT_IN_PLUGINS.get(use)?.()),
  ])
  return { ...adapters, ...providers, ...services, ...operators, ...app }
}

async function closeInOrder(parts: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.close()
}

/** A body takes up to five times its size while it is parsed and built: see docs/guides/sizing.md. */
const BODY_SHARE = 1 / 8

/** What the bodies of requests in flight may take. By default, half of it is left to other users. */
function findBodyLimits({ limits }: Settings): QuotaLimits {
  const ofHeap = Math.floor(getHeapStatistics().heap_size_limit * BODY_SHARE)
  const total = limits.bodies_bytes ?? Math.max(2 * limits.body_bytes, ofHeap)
  return { total, perOwner: limits.user_bodies_bytes ?? Math.max(limits.body_bytes, Math.floor(total / 2)) }
}

/** Limits and headers of both listeners for clients. */
function buildServerOptions(settings: Settings, logger: Logger): ServerOptions {
  const { timeouts, limits } = settings
  return {
    limits: {
      headersTimeoutMs: timeouts.headers_ms,
      requestTimeoutMs: timeouts.request_ms,
      keepAliveTimeoutMs: timeouts.keep_alive_ms,
      writeTimeoutMs: timeouts.write_timeout_ms,
      maxHeaderBytes: limits.header_bytes,
      maxHeaders: limits.headers,
      maxConnections: limits.connections,
    },
    headers: buildSecurityHeaders(settings.hsts_seconds),
    logger,
  }
}
