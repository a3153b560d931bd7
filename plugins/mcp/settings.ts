import type { ToolServerPolicy } from '../../projections/events/tool-servers.ts'
import type { McpLimits } from './upstream/upstream.ts'

/** The setting `mcp`, as `config/settings/mcp-schema.ts` declares it. */
export interface McpSettings {
  /** Networks, or whether all private addresses are allowed. */
  readonly allow_private_addresses?: boolean | readonly string[]
  /** Names of variables that `secret_ref` may name; `*` stands for any characters. */
  readonly secret_variables?: readonly string[]
  /** The folder of the files that `secret_ref` may name. */
  readonly secret_folder?: string
  /** Programs, by the name of the server. */
  readonly servers?: Readonly<Record<string, ProgramServerSettings>>
  readonly limits: McpLimits
}

/** A server that is a program of this machine, which the gateway starts. */
export interface ProgramServerSettings {
  /** The program and its arguments. No shell interprets them. */
  readonly command: readonly [string, ...string[]]
  readonly cwd?: string
  /** Texts, or references: `env:NAME`, `file:PATH`. */
  readonly env?: Readonly<Record<string, string>>
  readonly is_enabled?: boolean
  readonly default?: ToolServerPolicy['default']
  readonly new_tools?: ToolServerPolicy['newTools']
  readonly changed_tools?: ToolServerPolicy['changedTools']
  readonly timeout_ms?: number
  readonly max_concurrent?: number
}
