import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { Plugin } from '../core/contract/index.ts'
import { withAppendMetrics } from '../core/event-log/instrument-log.ts'
import { EXPIRING_STREAMS } from '../core/events/streams.ts'
import { buildSecurityHeaders } from '../core/http/server/default-headers.ts'
import type { ServerOptions } from '../core/http/server/hardened-server.ts'
import { listen } from '../core/http/server/listen.ts'
import { createOperatorRegistry } from '../core/pipeline/operator-registry.ts'
import { setUpPlugins } from '../core/pipeline/set-up.ts'
import { retryWhileUnavailable } from '../core/process/retry.ts'
import { createCallerSnapshots } from '../projections/history.ts'
import { openPluginEventStores } from '../projections/runtime/plugin-event-stores.ts'
import { openAuthFailureLimiter } from './auth-failures.ts'
import type { ClusterPeer } from './cluster/cluster-peer.ts'
import { RPC_TIMEOUTS_MS } from './cluster/messages.ts'
import type { Settings } from './settings/settings.ts'
import { openLongRunningState, type State } from './state.ts'

/** A running gateway. */
export interface Gateway {
  readonly baseUrl: string
  /** Base URL of `POST /route`. */
  readonly routeBaseUrl: string
  /** Plugin names in running order. */
  readonly plugins: readonly string[]
  /** Undefined when a provider key is configured. */
  readonly sandboxUrl: string | undefined
  readonly state: State
  /**
   * Stops accepting connections, waits for requests in flight up to `timeouts.drain_ms`, then closes
   * everything.
   */
  stop(): Promise<void>
  /**
   * As `stop`, for a worker whose replacement already serves: idle keep-alive connections stay open for their
   * usual timeout, up to `timeouts.drain_ms`, unless `stop` is called meanwhile.
   */
  drain(): Promise<void>
}

/**
 * Creates all parts of the gateway in dependency order and listens once it can serve. Retries while the event
 * log is unavailable. Rejects if the signal aborts before it serves. `cluster` connects it to the other
 * workers, if any.
 */
export async function startGateway(
  settings: Settings,
  logger: Logger,
  signal: AbortSignal,
  cluster?: ClusterPeer,
): Promise<Gateway> {
  const opened: { close(): Promise<void> }[] = []
  let closed: Promise<void> | undefined
  const closeAll = () => {
    closed ??= closeInOrder(opened.toReversed())
    return closed
  }
  try {
    const metrics = new Registry()
    const retry = (run: () => Promise<void>) => retryWhileUnavailable(run, logger, signal)
    const loading = importServingModules()
    const state = await openLongRunningState(settings, logger, {
      signal,
      decorateLog: withAppendMetrics(metrics, EXPIRING_STREAMS),
      takesSnapshots: cluster?.takesSnapshots ?? true,
      broadcastPosition: cluster?.broadcastPosition,
    })
    opened.push(state)
    const { openProviders, createBuiltInPlugins, createApp, createRouteApp } = await loading
    const providers = await openProviders(settings, cluster?.sandboxUrl)
    opened.push(providers)
    const operators = createOperatorRegistry()
    const authFailures = openAuthFailureLimiter(settings, metrics, logger)
    opened.push(authFailures)
    const plugins = createBuiltInPlugins(settings, state, providers, operators, authFailures, cluster)
    const { log, subscription, writer } = state
    const host = {
      log,
      logger,
      operators,
      metrics,
      openEvents: (plugins: readonly Plugin[]) =>
        openPluginEventStores(plugins, { log, subscription, writer, logger, retry }),
    }
    const pipeline = await setUpPlugins(settings.plugins, plugins, process.cwd(), host)
    opened.push(pipeline)

    let isStopping = false
    const parts = {
      steps: pipeline.steps,
      snapshotCaller: createCallerSnapshots(state.accounts, state.rules),
      bodyLimit: settings.limits.body_bytes,
      cors: settings.cors,
      logger,
      whyNotReady: () => (isStopping ? 'the process is shutting down' : undefined),
      logState: state.subscription.state,
    }
    await cluster?.register({
      async catchUpTo(position) {
        if (state.subscription.position() < position) state.log.poll?.()
        await state.subscription.until(
          () => state.subscription.position() >= position,
          RPC_TIMEOUTS_MS.catchUp,
        )
      },
      metrics: () => metrics.getMetricsAsJSON(),
    })
    await cluster?.takePorts()
    const serverOptions = buildServerOptions(settings, logger)
    const main = await listen(createApp(parts), settings.host, settings.port, serverOptions)
    opened.push({ close: () => main.stop(settings.timeouts.drain_ms) })
    const direct = await listen(createRouteApp(parts), settings.host, settings.route_port, serverOptions)
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

/** Imports most of the code while the threads of the event log start. */
async function importServingModules() {
  const [providers, plugins, app] = await Promise.all([
    import('./providers.ts'),
    import('./built-in-plugins.ts'),
    import('../core/http/app.ts'),
  ])
  return { ...providers, ...plugins, ...app }
}

async function closeInOrder(parts: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.close()
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
