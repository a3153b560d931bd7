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
import type { ClusterPeer } from './cluster/cluster-peer.ts'
import { RPC_TIMEOUTS_MS } from './cluster/messages.ts'
import { openFailedKeys } from './failed-keys.ts'
import type { Settings } from './settings/settings.ts'
import { openLongRunningState, type State } from './state.ts'

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
  drain(): Promise<void>
}

/**
 * Wires everything together, in the order in which it is needed, and listens once it can serve: when the event log is away, once it
 * is back. Rejects when the signal aborts before. As one of several workers it works together with its colleagues.
 */
export async function startGateway(
  settings: Settings,
  logger: Logger,
  signal: AbortSignal,
  colleagues?: ClusterPeer,
): Promise<Gateway> {
  const opened: { close(): Promise<void> }[] = []
  let closed: Promise<void> | undefined
  const closeAll = () => {
    closed ??= closeInTurn(opened.toReversed())
    return closed
  }
  try {
    const metrics = new Registry()
    const patiently = (run: () => Promise<void>) => retryWhileUnavailable(run, logger, signal)
    const loading = loadRest()
    const state = await openLongRunningState(settings, logger, {
      signal,
      decorateLog: withAppendMetrics(metrics, EXPIRING_STREAMS),
      takesSnapshots: colleagues?.takesSnapshots ?? true,
      broadcastPosition: colleagues?.broadcastPosition,
    })
    opened.push(state)
    const { openProviders, createBuiltInPlugins, createApp, createRouteApp } = await loading
    const providers = await openProviders(settings, colleagues?.sandboxUrl)
    opened.push(providers)
    const operators = createOperatorRegistry()
    const failedKeys = openFailedKeys(settings, metrics, logger)
    opened.push(failedKeys)
    const plugins = createBuiltInPlugins(settings, state, providers, operators, failedKeys, colleagues)
    const host = {
      log: state.log,
      logger,
      operators,
      metrics,
      openEvents: (plugins: readonly Plugin[]) =>
        openPluginEventStores(plugins, { ...state, logger, retry: patiently }),
    }
    const pipeline = await setUpPlugins(settings.plugins, plugins, process.cwd(), host)
    opened.push(pipeline)

    let draining = false
    const parts = {
      steps: pipeline.steps,
      snapshotCaller: createCallerSnapshots(state.accounts, state.rules),
      bodyLimit: settings.limits.body_bytes,
      cors: settings.cors,
      logger,
      whyNotReady: () => (draining ? 'the process is shutting down' : undefined),
      logState: state.subscription.state,
    }
    await colleagues?.register({
      async reach(position) {
        if (state.subscription.position() < position) state.log.poll?.()
        await state.subscription.until(
          () => state.subscription.position() >= position,
          RPC_TIMEOUTS_MS.catchUp,
        )
      },
      metrics: () => metrics.getMetricsAsJSON(),
    })
    await colleagues?.takePorts()
    const server = describeServer(settings, logger)
    const main = await listen(createApp(parts), settings.host, settings.port, server)
    opened.push({ close: () => main.stop(settings.timeouts.drain_ms) })
    const direct = await listen(createRouteApp(parts), settings.host, settings.route_port, server)
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
      drain: () => drain(settings.timeouts.drain_ms),
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** Most of the code, which is read while the log's threads start. */
async function loadRest() {
  const [providers, plugins, app] = await Promise.all([
    import('./providers.ts'),
    import('./built-in-plugins.ts'),
    import('../core/http/app.ts'),
  ])
  return { ...providers, ...plugins, ...app }
}

async function closeInTurn(parts: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.close()
}

/** How the addresses for clients are served. */
function describeServer(settings: Settings, logger: Logger): ServerOptions {
  const { timeouts, limits } = settings
  return {
    limits: {
      headersTimeoutMs: timeouts.headers_ms,
      requestTimeoutMs: timeouts.request_ms,
      keepAliveTimeoutMs: timeouts.keep_alive_ms,
      writeTimeoutMs: timeouts.stalled_ms,
      maxHeaderBytes: limits.header_bytes,
      maxHeaders: limits.headers,
      maxConnections: limits.connections,
    },
    headers: buildSecurityHeaders(settings.hsts_seconds),
    logger,
  }
}
