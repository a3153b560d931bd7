import type { Logger } from 'pino'
import type { Plugin, Vocabulary } from '../core/contract/index.ts'
import { createApp } from '../core/http/app.ts'
import { serve } from '../core/http/serve.ts'
import { setUpPlugins } from '../core/pipeline/set-up.ts'
import { createVocabulary } from '../core/pipeline/vocabulary.ts'
import { createAuth } from '../plugins/auth/plugin.ts'
import { createDecorate } from '../plugins/decorate/plugin.ts'
import { createDispatch } from '../plugins/dispatch/plugin.ts'
import { firewallKind } from '../plugins/firewall/kind.ts'
import { createFirewall } from '../plugins/firewall/plugin.ts'
import { createPlan } from '../plugins/plan/plugin.ts'
import { createRoutingKind } from '../plugins/routing/kind.ts'
import { createRouting } from '../plugins/routing/plugin.ts'
import type { Market } from '../plugins/routing/resolve.ts'
import type { Desks } from '../plugins/rules/batch.ts'
import { createRuleDesk } from '../plugins/rules/changes.ts'
import { createRules } from '../plugins/rules/plugin.ts'
import { createTrace } from '../plugins/trace/plugin.ts'
import { createCatalog } from '../providers/catalog.ts'
import { createHealth } from '../providers/health.ts'
import { createLatency } from '../providers/latency.ts'
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
    const state = await openState(settings, logger)
    opened.push(state)
    const providers = await openProviders(settings)
    opened.push(providers)
    const vocabulary = createVocabulary()
    const plugins = builtInPlugins(settings, state, providers, vocabulary)
    const host = { log: state.log, logger, vocabulary }
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

function builtInPlugins(
  settings: Settings,
  state: State,
  providers: Providers,
  vocabulary: Vocabulary,
): ReadonlyMap<string, Plugin> {
  const routingKind = createRoutingKind(vocabulary)
  const desks: Desks = {
    routing: (userId) => createRuleDesk(routingKind, state.rules, userId),
    firewall: (userId) => createRuleDesk(firewallKind, state.rules, userId),
  }
  const health = createHealth(settings.breaker)
  const latency = createLatency()
  const { vendors } = providers
  const market: Market = {
    catalog: createCatalog(settings.models),
    weights: settings.modes,
    latencyOf: latency.expect,
    capabilitiesOf: (provider) => vendors.get(provider)?.capabilities,
    isUsable: ({ provider, id }) => health.isUsable(provider, id),
  }
  const plugins = [
    createAuth({
      accounts: state.accounts,
      commands: state.accountCommands,
      adminKey: settings.admin_key ?? undefined,
    }),
    createPlan(),
    createTrace(),
    createRules(desks, state),
    createFirewall({ ...state, openDesk: desks.firewall }),
    createRouting({ ...state, openDesk: desks.routing, market, providers: providers.known }),
    createDispatch({ vendors, health, latency }),
    createDecorate(),
  ]
  return new Map(plugins.map((plugin) => [plugin.name, plugin]))
}
