import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { Plugin } from '../core/contract/index.ts'
import { serve } from '../core/http/serve.ts'
import { createAppendMeter } from '../core/log/measure-appends.ts'
import { setUpPlugins } from '../core/pipeline/set-up.ts'
import { createVocabulary } from '../core/pipeline/vocabulary.ts'
import { createPin } from '../projections/pin.ts'
import { openPluginLedgers } from '../projections/plugin-ledgers.ts'
import { openFailedKeys } from './failed-keys.ts'
import { openPatiently } from './patience.ts'
import { describeServer } from './server.ts'
import type { Settings } from './settings.ts'
import { openLastingState, type State } from './state.ts'
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
    const loading = loadRest()
    const state = await openLastingState(settings, logger, {
      signal,
      equip: createAppendMeter(metrics),
      takesSnapshots: colleagues?.takesSnapshots ?? true,
      spread: colleagues?.spread,
    })
    opened.push(state)
    const { openProviders, createBuiltInPlugins, createApp, createRouteApp } = await loading
    const providers = await openProviders(settings, colleagues?.sandboxUrl)
    opened.push(providers)
    const vocabulary = createVocabulary()
    const failedKeys = openFailedKeys(settings, metrics, logger)
    opened.push(failedKeys)
    const plugins = createBuiltInPlugins(settings, state, providers, vocabulary, failedKeys, colleagues)
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
