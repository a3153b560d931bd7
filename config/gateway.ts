import type { Logger } from 'pino'
import type { Plugin } from '../core/contract/index.ts'
import { createApp } from '../core/http/app.ts'
import { serve } from '../core/http/serve.ts'
import { setUpPlugins } from '../core/pipeline/set-up.ts'
import { createAuth } from '../plugins/auth/plugin.ts'
import { createDecorate } from '../plugins/decorate/plugin.ts'
import { createDispatch } from '../plugins/dispatch/plugin.ts'
import { createFirewall } from '../plugins/firewall/plugin.ts'
import { createPlan } from '../plugins/plan/plugin.ts'
import { createRouting } from '../plugins/routing/plugin.ts'
import { createCatalog } from '../providers/catalog.ts'
import { openProviders, type Providers } from './providers.ts'
import type { Settings } from './settings.ts'
import { openState, type State } from './state.ts'

/** A gateway that serves. */
export interface Gateway {
  readonly baseUrl: string
  /** Plugin names in running order. */
  readonly plugins: readonly string[]
  readonly sandboxUrl: string | undefined
  readonly state: State
  /** Takes nothing new, lets running requests end, then lets go of everything. */
  stop(): Promise<void>
}

/** Wires everything together, in the order in which it is needed, and listens once it can serve. */
export async function startGateway(settings: Settings, logger: Logger): Promise<Gateway> {
  const opened: { close(): Promise<void> }[] = []
  const closeAll = async () => {
    for (const part of opened.splice(0).toReversed()) await part.close()
  }
  try {
    const state = await openState(settings.data_dir, logger)
    opened.push(state)
    const providers = await openProviders(settings)
    opened.push(providers)
    const plugins = builtInPlugins(settings, state, providers)
    const host = { log: state.log, logger }
    const pipeline = await setUpPlugins(settings.plugins, plugins, process.cwd(), host)
    opened.push(pipeline)

    let draining = false
    const app = createApp({
      steps: pipeline.steps,
      rulesOf: state.rules.of,
      bodyLimit: settings.limits.body_bytes,
      logger,
      whyNotReady: () => (draining ? 'the process is shutting down' : undefined),
    })
    const listener = await serve(app, settings.host, settings.port)
    return {
      baseUrl: listener.url,
      plugins: pipeline.steps.map(({ plugin }) => plugin.name),
      sandboxUrl: providers.sandboxUrl,
      state,
      async stop() {
        draining = true
        await listener.stop(settings.timeouts.drain_ms)
        await closeAll()
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

function builtInPlugins(settings: Settings, state: State, providers: Providers): ReadonlyMap<string, Plugin> {
  const market = {
    catalog: createCatalog(settings.models),
    configured: new Set(providers.connections.keys()),
    weights: settings.modes,
    latencyOf: (model: { latency_ms: number }) => model.latency_ms,
  }
  const plugins = [
    createAuth({
      accounts: state.accounts,
      commands: state.accountCommands,
      adminKey: settings.admin_key ?? undefined,
    }),
    createPlan(),
    createFirewall(state),
    createRouting({ ...state, market, providers: providers.known }),
    createDispatch(providers.connections),
    createDecorate(),
  ]
  return new Map(plugins.map((plugin) => [plugin.name, plugin]))
}
