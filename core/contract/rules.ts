import type { Position } from './event-log.ts'
import type { JsonObject } from './json.ts'

/** Fields of all rule kinds. Times are ISO 8601 UTC with six decimals. */
interface RuleBase {
  readonly id: number
  /** The owner: exactly one of the two. */
  readonly user_id?: number
  readonly policy_id?: number
  readonly name: string
  readonly is_enabled: boolean
  /** -1000 to 1000. Higher priorities are evaluated first. */
  readonly priority: number
  readonly created_at: string
  readonly updated_at: string
  /** Number of the rule's events, from 1; the rule's ETag. */
  readonly revision: number
}

/** See docs/api.md, "Routing rules". */
export interface RoutingRule extends RuleBase {
  readonly match_json: JsonObject
  readonly action_json: JsonObject
}

/** What firewall rules inspect: requests and replies of models, calls of tools and their results. */
export const FIREWALL_SCOPES = ['prompt', 'response', 'tool_call', 'tool_result'] as const

export type FirewallScope = (typeof FIREWALL_SCOPES)[number]

/** The scopes that warnings and trace entries name. Those without one are about the request. */
export const NAMED_SCOPES = FIREWALL_SCOPES.filter((scope) => scope !== 'prompt')

export type NamedScope = Exclude<FirewallScope, 'prompt'>

/** See docs/api.md, "Firewall rules". */
export interface FirewallRule extends RuleBase {
  readonly scope: FirewallScope
  readonly type: 'substring' | 'regex' | 'preset'
  readonly pattern: string
  readonly action: 'block' | 'mask' | 'warn'
  readonly replacement: string | null
}

/** Tests one value of a tool's arguments. See docs/guides/tool-rules.md. */
export type ArgumentTest =
  /** Deep equality of JSON. */
  | { readonly equals: unknown }
  /** A text, like the pattern of a firewall rule of the type `substring`. */
  | { readonly contains: string }
  /** A regular expression, like the pattern of a firewall rule of the type `regex`. */
  | { readonly matches: string }

/** The conditions of a tool rule. All of them must hold; none matches every call. */
export interface ToolMatch {
  /** Globs over the names of the server and the tool: `*` and `?`. */
  readonly server?: string
  readonly tool?: string
  /** Tests by JSON pointer into the arguments. All of them must hold. */
  readonly arguments?: Readonly<Record<string, ArgumentTest>>
  /** Globs over names of servers, one of whose results the session has read. */
  readonly after_reading?: readonly string[]
}

/** See docs/api.md, "Tool rules". */
export interface ToolRule extends RuleBase {
  readonly match: ToolMatch
  readonly action: 'allow' | 'deny' | 'hide' | 'require_approval' | 'warn'
}

/** The rules of each kind. */
export interface RulesByKind {
  readonly routing: RoutingRule
  readonly firewall: FirewallRule
  readonly tool: ToolRule
}

/** A rule of any kind. */
export type Rule = RulesByKind[keyof RulesByKind]

/** Names the policy that a rule belongs to. */
export interface RuleOrigin {
  readonly type: 'policy'
  readonly id: number
  readonly name: string
}

/**
 * The rules of a user or a policy at one time, in evaluation order. Immutable: a rule change creates a new
 * set.
 */
export interface RuleSet {
  /** Id of the user or the policy. No user has the id of a policy. */
  readonly ownerId: number
  /** Set if a policy owns the rules. */
  readonly origin?: RuleOrigin
  /** Log position of the last rule event; 0 if there is none. */
  readonly position: Position
  /** Set on historical rule sets: their compiled form is not cached. */
  readonly transient?: true
  readonly routing: readonly RoutingRule[]
  readonly firewall: readonly FirewallRule[]
  readonly tool: readonly ToolRule[]
}

/** Optimization goals of automatic routing (docs/api.md, "Models and routing modes"). */
export const MODES = ['balance', 'cost', 'quality', 'latency'] as const

export type Mode = (typeof MODES)[number]

const ALIASES: Readonly<Record<string, Mode>> = {
  balance: 'balance',
  balanced: 'balance',
  cost: 'cost',
  quality: 'quality',
  latency: 'latency',
  fast: 'latency',
  speed: 'latency',
}

/** Every accepted spelling of a mode, for error messages and schemas. */
export const MODE_SPELLINGS = Object.keys(ALIASES)

/** Returns the canonical mode for a spelling, ignoring case; undefined if unknown. */
export function parseMode(spelling: string): Mode | undefined {
  const key = spelling.toLowerCase()
  return Object.hasOwn(ALIASES, key) ? ALIASES[key] : undefined
}
