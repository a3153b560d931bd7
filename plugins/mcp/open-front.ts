import type { Logger } from 'pino'
import type { Endpoint, Position, RecordStore } from '../../core/contract/index.ts'
import type { CallerSource } from '../../core/pipeline/inference.ts'
import type { BreakerSettings } from '../../providers/shared/model-breaker.ts'
import type { Tracer } from '../tracing/index.ts'
import type { ToolCatalog } from './catalog.ts'
import { upstreamContext } from './front/client-context.ts'
import { createFrontEndpoints } from './front/endpoints.ts'
import { createMailbox } from './front/mailbox.ts'
import { createMerged } from './front/merge.ts'
import { createParkedCalls } from './front/parked-calls.ts'
import { createSessions, withClearErrors } from './front/sessions.ts'
import { createServerLists } from './lists.ts'
import type { AddressGuard } from './servers/addresses.ts'
import type { ListTools } from './servers/list-tools.ts'
import type { Deciders } from './services.ts'
import type { ReadSecret } from './upstream/credentials.ts'
import { createUpstreams, type Upstreams } from './upstream/servers.ts'
import type { McpLimits } from './upstream/upstream.ts'

interface FrontOptions {
  readonly catalog: ToolCatalog
  readonly limits: McpLimits
  readonly breaker: BreakerSettings
  readonly deciders: Deciders
  readonly callers: CallerSource
  /** Position of the newest event of any tool server. */
  serversPosition(): Position
  readonly store: RecordStore
  readonly logger: Logger
  readonly version: string
  readonly stopping: AbortSignal
  readonly hasOtherProcesses: boolean
  readonly origins: readonly string[]
  readonly readSecret: ReadSecret
  readonly addresses: AddressGuard
  readonly tracer: Tracer | undefined
}

/** Opens `/mcp`: the endpoints, and the connections to the servers behind them. */
export function openFront(options: FrontOptions): {
  readonly endpoints: readonly Endpoint[]
  readonly listTools: ListTools
  readonly upstreams: Pick<Upstreams, 'contacts' | 'circuits'>
  close(): Promise<void>
} {
  const { catalog, limits, deciders, callers, logger, version, stopping, origins } = options
  const store = withClearErrors(options.store)
  const upstreams = createUpstreams(options)
  const lists = createServerLists({ catalog, upstreams, listSeconds: limits.list_seconds })
  const sessions = createSessions(store)
  const mailbox = createMailbox(store, options.hasOtherProcesses)
  const stop = catalog.onChanged((server) => {
    lists.forget(server)
    upstreams.retain(catalog.list())
  })
  const merged = createMerged({
    ...{ lists, logger, rules: deciders.rules },
    contextFor: (context, server, signal) => upstreamContext(context, server, sessions, signal),
  })
  return {
    endpoints: createFrontEndpoints({
      ...{
        catalog,
        upstreams,
        lists,
        merged,
        sessions,
        limits,
        version,
        stopping,
        callers,
        deciders,
        origins,
      },
      serversPosition: options.serversPosition,
      mailbox,
      tracer: options.tracer,
      parked: createParkedCalls(mailbox),
      maxRequestBytes: limits.max_request_bytes,
    }),
    upstreams,
    listTools: (server, signal) =>
      lists.fetchItems(server, 'tools/list', {
        caller: { userId: 0 },
        session: { key: 'refresh', capabilities: {} },
        capabilities: {},
        signal,
      }),
    async close() {
      stop()
      lists.close()
      await upstreams.close()
    },
  }
}
