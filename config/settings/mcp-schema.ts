import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { McpLimits } from './mcp-limits-schema.ts'

const text = (description: string) => Type.String({ minLength: 1, maxLength: 4096, description })

/** A tool server that is a program. The fields are those of `/admin/tool-servers`, with other defaults. */
const ProgramServer = StrictObject({
  command: Type.Array(Type.String({ minLength: 1 }), {
    minItems: 1,
    description: 'The program and its arguments. No shell interprets them.',
  }),
  cwd: Type.Optional(text('Folder in which the program runs. Default: that of the gateway.')),
  env: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }), Type.String(), {
      description:
        'Variables of the program: texts, or references to a secret (env:NAME or file:PATH). It gets no ' +
        'others but PATH, HOME and the like.',
    }),
  ),
  is_enabled: Type.Optional(Type.Boolean({ description: 'Whether the server is used. Default: true.' })),
  default: Type.Optional(
    StringEnum(['allow', 'deny'], {
      description: 'What happens to calls that no rule decides about. Default: allow.',
    }),
  ),
  new_tools: Type.Optional(
    StringEnum(['pending', 'approved'], {
      description: 'Whether new tools must be approved before they are served. Default: pending.',
    }),
  ),
  changed_tools: Type.Optional(
    StringEnum(['block', 'serve_approved'], {
      description:
        'What happens to tools whose definition has changed until the new one is approved: they are not ' +
        'served (block, the default), or with the definition that was approved.',
    }),
  ),
  timeout_ms: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 86_400_000, description: 'How long a call may take.' }),
  ),
  max_concurrent: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100_000, description: 'Calls at the same time, per process.' }),
  ),
})

/** The setting `mcp` (docs/guides/tool-servers.md). */
export const McpSettings = StrictObject({
  allow_private_addresses: Type.Optional(
    Type.Union([Type.Boolean(), Type.Array(Type.String())], {
      description:
        'Whether tool servers may have addresses that are not public: all, none, or those of a list of ' +
        'addresses and networks. Default: only this machine, and only if host is an address of it, too.',
    }),
  ),
  secret_variables: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Za-z_*][A-Za-z0-9_*]*$' }), {
      description:
        'Environment variables that secret_ref of tool servers may name; * stands for any characters. ' +
        'Default: MCP_*.',
    }),
  ),
  secret_folder: Type.Optional(
    text('Folder of the files that secret_ref of tool servers may name. Default: none.'),
  ),
  servers: Type.Optional(
    Type.Record(Type.String({ pattern: '^[0-9-]*[a-z][a-z0-9-]{0,62}$' }), ProgramServer, {
      description:
        'Tool servers that are programs of this machine, by name: lower-case letters, digits and hyphens.',
    }),
  ),
  limits: McpLimits,
})
