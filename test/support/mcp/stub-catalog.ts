/** A plugin package that has tool servers of its own and serves every definition: `options.servers`. */
export const STUB_CATALOG = `
import { definePlugin, service } from 'signalbox'
const ToolServers = service('mcp.catalog')
export default definePlugin({
  name: 'stub-catalog',
  contract: 3,
  options: { type: 'object' },
  provides: [ToolServers],
  setup({ servers }, host) {
    const tools = new Map()
    host.provide(ToolServers, {
      list: () => servers,
      find: (name) => servers.find((server) => server.name === name),
      observe({ name }, definitions) {
        const served = definitions.map((definition) => ({ name: definition.name, revision: 1, definition }))
        tools.set(name, new Map(served.map((tool) => [tool.name, tool])))
        return served
      },
      tool: ({ name }, tool) => tools.get(name)?.get(tool) ?? 'unknown',
      onChanged: () => () => {},
    })
    return {}
  },
})`
