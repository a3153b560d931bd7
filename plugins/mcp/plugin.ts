import { definePlugin, optional, settingsOf } from '../../core/contract/index.ts'
import { GatewayState } from '../../projections/state.ts'
import { createAddressGuard } from './servers/addresses.ts'
import { createToolServerEndpoints } from './servers/endpoints.ts'
import { createSecretReferences } from './servers/secret-references.ts'
import { createToolServerState, ToolServerState } from './servers/state.ts'
import type { McpSettings } from './settings.ts'

/** Serves the tools of MCP servers (docs/guides/tool-servers.md). */
export default definePlugin({
  name: 'mcp',
  after: ['auth'],
  uses: {
    state: GatewayState,
    settings: optional(settingsOf<McpSettings>('mcp')),
    host: settingsOf<string>('host'),
  },
  provides: [ToolServerState],
  setup(_, { use: { state, settings = {}, host }, provide }) {
    const { servers: programs = {} } = settings
    provide(ToolServerState, createToolServerState(state.toolServers, programs))
    return {
      endpoints: createToolServerEndpoints({
        ...state,
        addresses: createAddressGuard(settings.allow_private_addresses, host),
        secrets: createSecretReferences(settings),
        isProgram: (name) => Object.hasOwn(programs, name),
      }),
    }
  },
})
