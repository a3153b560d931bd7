import { definePlugin, optional, settingsOf } from '../../core/contract/index.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { readSecret } from '../../core/secrets/read-secret.ts'
import { Callers } from '../../projections/callers.ts'
import { GatewayState } from '../../projections/state.ts'
import type { BreakerSettings } from '../../providers/shared/model-breaker.ts'
import { Approvals } from '../approvals/index.ts'
import { ToolFirewall } from '../firewall/index.ts'
import { ToolCallLedger } from '../ledger/index.ts'
import { ToolCallLimit } from '../rate-limit/index.ts'
import { ToolRules } from '../tool-rules/index.ts'
import { Tracer } from '../tracing/index.ts'
import { createToolCatalog } from './catalog.ts'
import { createToolDecisions } from './decide-unsent.ts'
import { MCP_ERROR_CODES } from './errors.ts'
import { ToolDecisions, ToolServerContacts, ToolServers } from './index.ts'
import { countCalls, registerServerMetrics } from './metrics.ts'
import { openFront } from './open-front.ts'
import { createAddressGuard } from './servers/addresses.ts'
import { createToolServerEndpoints } from './servers/endpoints.ts'
import { createObservedTools } from './servers/observe.ts'
import { createSecretReferences } from './servers/secret-references.ts'
import { createToolServerState, ToolServerState } from './servers/state.ts'
import type { McpSettings } from './settings.ts'

/** The gateway for tools (docs/guides/mcp.md) of MCP servers (docs/guides/tool-servers.md). */
export default definePlugin({
  name: 'mcp',
  after: ['auth'],
  uses: {
    state: GatewayState,
    settings: settingsOf<McpSettings>('mcp'),
    host: settingsOf<string>('host'),
    breaker: settingsOf<BreakerSettings>('breaker'),
    process: ProcessServices,
    callers: Callers,
    cors: settingsOf<{ readonly origins: readonly string[] }>('cors'),
    workers: settingsOf<number>('workers'),
    redis: optional(settingsOf<string | null>('redis_url')),
    catalog: optional(ToolServers),
    rules: optional(ToolRules),
    firewall: optional(ToolFirewall),
    callLimit: optional(ToolCallLimit),
    approvals: optional(Approvals),
    ledger: optional(ToolCallLedger),
    tracer: optional(Tracer),
  },
  provides: [ToolServerState, ToolDecisions, ToolServerContacts],
  setup(_, { use, provide, logger, store, metrics }) {
    const { state, settings, callers, rules, firewall, callLimit, approvals, ledger } = use
    const { servers: programs = {}, limits, secret_folder: secretFolder } = settings
    const servers = createToolServerState(state.toolServers, programs)
    provide(ToolServerState, servers)
    const decisions = createToolDecisions({ ...state, servers, programs, deciders: { rules, firewall } })
    provide(ToolDecisions, decisions)
    const observed = createObservedTools({ ...state, servers, logger })
    const addresses = createAddressGuard(settings.allow_private_addresses, use.host)
    const front = openFront({
      ...{ callers, logger, store, limits },
      breaker: use.breaker,
      serversPosition: state.toolServers.position,
      catalog: use.catalog ?? createToolCatalog(servers, observed),
      deciders: { rules, firewall, callLimit, approvals, ledger: countCalls(ledger, metrics) },
      version: use.process.version,
      stopping: use.process.stopping,
      hasOtherProcesses: use.workers > 1 || Boolean(use.redis),
      origins: use.cors.origins,
      addresses,
      tracer: use.tracer,
      readSecret: (reference) => readSecret(reference, secretFolder),
    })
    provide(ToolServerContacts, front.upstreams)
    registerServerMetrics(metrics, front.upstreams)
    return {
      errorCodes: MCP_ERROR_CODES,
      endpoints: [
        ...createToolServerEndpoints({
          ...state,
          servers,
          observed,
          listTools: front.listTools,
          addresses,
          secrets: createSecretReferences(settings),
          isProgram: (name) => Object.hasOwn(programs, name),
        }),
        ...front.endpoints,
      ],
      close: front.close,
    }
  },
})
