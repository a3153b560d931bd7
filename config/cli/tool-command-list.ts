import type { Command } from './command.ts'
import { JSON_OUTPUT, REASON, TARGET } from './shared-options.ts'

const SERVER = 'SERVER is the name of a tool server.'

/** The commands about the tools of MCP servers, at a gateway that runs. */
export const TOOL_COMMANDS: readonly Command[] = [
  {
    name: 'tools list',
    operands: ['[SERVER]'],
    summary: 'List the tools of one or all tool servers, with what is served.',
    details: SERVER,
    options: {
      status: { value: 'STATUS', summary: 'Only approved, pending, changed or rejected ones.' },
      ...JSON_OUTPUT,
      ...TARGET,
    },
    async run(args) {
      const { listTools } = await import('./tool-commands.ts')
      return listTools(args)
    },
  },
  {
    name: 'tools diff',
    operands: ['SERVER', '[TOOL]'],
    summary: 'Show what waits for a decision: new definitions, and how changed ones differ.',
    details: `${SERVER} Exits with 2 if something waits.`,
    options: { ...JSON_OUTPUT, ...TARGET },
    async run(args) {
      const { diffTools } = await import('./tool-commands.ts')
      return diffTools(args)
    },
  },
  {
    name: 'tools approve',
    operands: ['SERVER', 'TOOL', 'REVISION'],
    summary: 'Approve the newest definition of a tool, so that it is served.',
    details: `${SERVER} Fails if there is a newer definition than REVISION, as shown by "tools list".`,
    options: { ...REASON, ...TARGET },
    async run(args) {
      const { decideTool } = await import('./tool-commands.ts')
      return decideTool(args, 'approve')
    },
  },
  {
    name: 'tools reject',
    operands: ['SERVER', 'TOOL', 'REVISION'],
    summary: 'Reject a definition of a tool, or revoke its approval.',
    details: SERVER,
    options: { ...REASON, ...TARGET },
    async run(args) {
      const { decideTool } = await import('./tool-commands.ts')
      return decideTool(args, 'reject')
    },
  },
  {
    name: 'tools refresh',
    operands: ['SERVER'],
    summary: 'Ask a tool server for its tools now, and record what is new.',
    details: SERVER,
    options: { ...REASON, ...JSON_OUTPUT, ...TARGET },
    async run(args) {
      const { refreshTools } = await import('./tool-commands.ts')
      return refreshTools(args)
    },
  },
]
