import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { Host, Plugin, UsedServices, Uses } from '../../core/contract/index.ts'
import { RequestsInFlight } from '../../core/http/client-connection.ts'
import type { CallerSource } from '../../core/pipeline/inference.ts'
import type { PluginStep } from '../../core/pipeline/load.ts'
import { createAdapterRegistry, createOperatorRegistry } from '../../core/pipeline/registries.ts'
import { setUpPlugins } from '../../core/pipeline/set-up.ts'
import type { SecretFile } from '../../core/secrets/secret-file.ts'
import { createMemorySharedState } from '../../core/shared-state/memory.ts'
import { retryWhileUnavailable } from '../../core/threads/retry.ts'
import { readVersion } from '../../core/util/package-folder.ts'
import { createAuthFailureLimiter } from '../../plugins/auth/auth-failures.ts'
import type { IssuedTokens } from '../../plugins/auth/issued-tokens.ts'
import type { Sessions } from '../../plugins/auth/sessions.ts'
import { createLedgerCalls, type LedgerCalls } from '../../plugins/ledger/store/methods.ts'
import type { RuleKinds } from '../../plugins/rules/rule-kind.ts'
import { createCallerSnapshots } from '../../projections/callers.ts'
import { openPluginEventStores } from '../../projections/runtime/plugin-event-stores.ts'
import { ADAPTERS, createChatAdapter } from '../../providers/adapters.ts'
import type { Settings } from '../settings/settings.ts'
import { BUILT_IN_PLUGINS } from './built-in-plugins.ts'
import { createGatewayServices } from './gateway-services.ts'
import { openProviders } from './providers.ts'
import { createRuleKinds } from './rule-services.ts'
import type { OpenState } from './state.ts'

/** The plugins of a gateway that does not serve: commands parse rules and decide about requests with them. */
export interface OfflineGateway {
  readonly kinds: RuleKinds
  /** The listed plugins. */
  readonly steps: readonly PluginStep[]
  readonly costOf: Host['costOf']
  /** Runs the phase `decide` of all plugins. Throws the error that would refuse the request. */
  readonly decide: Host['decide']
  readonly callers: CallerSource
  /** Returns services of the gateway and of the listed plugins. */
  use<Used extends Uses>(uses: Used): Promise<UsedServices<Used>>
  close(): Promise<void>
}

/** Nothing is sent to the sandbox, which stands in when no provider is configured. */
const NO_SANDBOX = 'http://127.0.0.1:0'

/** Nobody signs in. */
const NO_SESSIONS: Sessions = {
  start() {
    throw new Error('this gateway does not serve')
  },
  find: () => undefined,
  findConfirmed: async () => undefined,
  renewBy: () => undefined,
  confirm: () => undefined,
  isCurrent: () => false,
  authenticate: () => undefined,
  allowInference: () => undefined,
  isInferenceAllowed: () => false,
  actorOf: () => undefined,
  end: () => Promise.resolve(),
}

const NO_TOKENS: IssuedTokens = {
  issue() {
    throw new Error('this gateway does not serve')
  },
  resolve: () => undefined,
  isToken: () => false,
  read: () => undefined,
  find: () => undefined,
  admit: () => undefined,
}

const NO_SECRET: SecretFile = {
  read: () => undefined,
  readOrCreate() {
    throw new Error('this gateway does not serve')
  },
}

const NO_LEDGER = createLedgerCalls(async (): Promise<never> => {
  throw new Error('the request ledger is not open')
})

/** Sets up the listed plugins on a state. Plugin packages are resolved from `pluginFolder`. */
export async function openOfflineGateway(
  settings: Settings,
  state: OpenState,
  logger: Logger,
  pluginFolder = process.cwd(),
  ledger: LedgerCalls = NO_LEDGER,
): Promise<OfflineGateway> {
  const { log, subscription, writer } = state
  const operators = createOperatorRegistry()
  const adapters = createAdapterRegistry(ADAPTERS, createChatAdapter)
  const sharedState = createMemorySharedState()
  const providers = await openProviders(settings, NO_SANDBOX)
  const closing = new AbortController()
  const authFailures = createAuthFailureLimiter({
    limit: settings.limits.auth_failures_per_minute,
    counters: sharedState.counters('auth-failures'),
    resolveAddress: () => '',
    recordOutcome: () => undefined,
    logger,
  })
  const failClosed = async (): Promise<never> => {
    throw new Error('the request ledger is not open')
  }
  // The gateway that serves may have the port.
  const { metrics_port: _, ...ownSettings } = settings
  const retry = (run: () => Promise<void>) => retryWhileUnavailable(run, logger, closing.signal)
  const registry = createGatewayServices({
    settings: ownSettings,
    state,
    providers,
    operators,
    sharedState,
    process: {
      version: readVersion(),
      stopping: closing.signal,
      requests: new RequestsInFlight(),
      isPrimary: false,
      retry,
    },
    access: {
      authFailures,
      accessLog: { reportPrompts: failClosed, reportRatings: failClosed },
      sessions: NO_SESSIONS,
      tokens: NO_TOKENS,
      secret: NO_SECRET,
      holders: { resolve: () => undefined, ofKey: () => undefined },
      resolveAddress: () => '',
    },
    openLedger: () => ledger,
    pluginFolder,
  })
  const pipeline = await setUpPlugins(settings.plugins, BUILT_IN_PLUGINS, pluginFolder, {
    registry,
    log,
    logger,
    operators,
    adapters,
    metrics: new Registry(),
    sharedState,
    costOf: providers.costOf,
    hasOperators: () => false,
    pluginTimeoutMs: settings.timeouts.plugin_ms,
    openEvents: (list: readonly Plugin[]) =>
      openPluginEventStores(list, { log, subscription, writer, logger, retry }),
  })
  const close = async () => {
    closing.abort()
    await pipeline.close()
    await providers.close()
    await sharedState.close()
  }
  try {
    providers.connect(adapters.adapters)
  } catch (error) {
    await close()
    throw error
  }
  return {
    kinds: createRuleKinds(settings, operators),
    steps: pipeline.steps,
    costOf: providers.costOf,
    decide: pipeline.decide,
    callers: { snapshot: createCallerSnapshots(state) },
    use: (uses) => registry.resolve(uses),
    close,
  }
}
