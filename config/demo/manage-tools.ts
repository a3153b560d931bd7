import type { Logger } from 'pino'
import type { Author } from '../../core/contract/index.ts'
import { anyRevision } from '../../core/http/change-headers.ts'
import { createAddressGuard } from '../../plugins/mcp/servers/addresses.ts'
import { manageToolServers } from '../../plugins/mcp/servers/endpoints.ts'
import { createObservedTools } from '../../plugins/mcp/servers/observe.ts'
import { createSecretReferences } from '../../plugins/mcp/servers/secret-references.ts'
import { createToolServerState } from '../../plugins/mcp/servers/state.ts'
import { decideAboutTool } from '../../plugins/mcp/servers/tool-endpoints.ts'
import type { OpenState } from '../gateway/state.ts'
import type { Settings } from '../settings/settings.ts'
import type { DemoChange } from './changes.ts'
import { DEMO_TOOL_SERVERS, listDemoTools } from './tool-servers.ts'

interface ToolContext {
  readonly settings: Pick<Settings, 'mcp' | 'host'>
  /** Where the servers are, each at the path of its name. */
  readonly url: string
  readonly logger: Logger
}

export type ManageDemoTools = (change: NonNullable<DemoChange['tools']>, author: Author) => Promise<void>

/** Returns a function that changes tool servers, with the commands of the endpoints. */
export function createDemoToolManager(
  state: OpenState,
  { settings: { mcp, host }, url, logger }: ToolContext,
): ManageDemoTools {
  const services = { ...state, logger, servers: createToolServerState(state.toolServers) }
  const observed = createObservedTools(services)
  const { commands } = manageToolServers({
    ...services,
    addresses: createAddressGuard(mcp.allow_private_addresses, host),
    secrets: createSecretReferences(mcp),
    isProgram: (name) => Object.hasOwn(mcp.servers ?? {}, name),
  })
  return async ({ server: name, isUpdated = false, approve = [], reject = [] }, author) => {
    const declared = DEMO_TOOL_SERVERS.find((server) => server.name === name)
    if (declared === undefined) throw new Error(`the demo has no tool server ${name}`)
    if (state.toolServers.named(name) === undefined)
      await commands.create(
        {
          ...{ name, url: `${url}/${name}`, isEnabled: true, auth: { type: 'none' }, default: 'allow' },
          ...{ newTools: 'pending', changedTools: declared.changedTools },
          ...{ timeoutMs: null, maxConcurrent: null },
        },
        author,
      )
    const server = services.servers.find(name)
    if (server === undefined) throw new Error(`the tool server ${name} was not created`)
    await observed.refresh(server, listDemoTools(declared, isUpdated), author)
    const decide = async (tool: string, type: 'ToolRevisionApproved' | 'ToolRevisionRejected') => {
      const revision = services.servers.toolsOf(server.id).get(tool)?.revisions.length ?? 0
      await decideAboutTool(services, { id: server.id, tool }, { type, revision }, anyRevision, author)
    }
    for (const tool of approve) await decide(tool, 'ToolRevisionApproved')
    for (const tool of reject) await decide(tool, 'ToolRevisionRejected')
  }
}
