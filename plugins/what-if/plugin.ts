import { definePlugin, optional, service } from '../../core/contract/index.ts'
import { Callers } from '../../projections/callers.ts'
import { GatewayState } from '../../projections/state.ts'
import { Ledger } from '../ledger/index.ts'
import { ToolServerState } from '../mcp/index.ts'
import { Responses } from '../responses/index.ts'
import { RuleScopes } from '../rules/index.ts'
import { createWhatIfEndpoint, WHAT_IF_ERROR_CODES } from './endpoint.ts'
import type { WhatIfServices } from './run-what-if.ts'
import type { WhatIfThread as Thread } from './thread.ts'

/** The gateway creates it: the thread sets up the plugins again. */
const WhatIfThread = service<Thread>('what-if.thread')

/** Evaluates drafts of rules on recorded requests (docs/guides/what-if.md). */
export default definePlugin({
  name: 'what-if',
  after: ['ledger', 'routing', 'firewall'],
  uses: {
    state: GatewayState,
    rules: RuleScopes,
    callers: Callers,
    ledger: Ledger,
    responses: optional(Responses),
    toolServers: optional(ToolServerState),
    thread: WhatIfThread,
  },
  setup(_, { use: { state, rules, callers, ledger, responses, thread, toolServers }, logger }) {
    const services: WhatIfServices = {
      ...state,
      kinds: rules.kinds,
      callers,
      thread,
      listToolServers: () => toolServers?.list() ?? [],
      settleLedger: ledger.settle,
      findResponse: async (...of) => responses?.find(...of),
    }
    return {
      endpoints: [createWhatIfEndpoint(services, logger)],
      errorCodes: WHAT_IF_ERROR_CODES,
      close: () => thread.close(),
    }
  },
})
