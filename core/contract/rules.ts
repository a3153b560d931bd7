import type { Position } from './event-log.ts'
import type { JsonObject } from './json.ts'

/** What both rule kinds have in common. Times are ISO 8601 UTC with six decimals. */
interface RuleBase {
  readonly id: number
  readonly user_id: number
  readonly name: string
  readonly is_enabled: boolean
  /** -1000 to 1000; higher is evaluated first. */
  readonly priority: number
  readonly created_at: string
  readonly updated_at: string
  /** Counts the rule's own events from 1; its ETag. */
  readonly revision: number
}

/** docs/api.md, "Routing rules". */
export interface RoutingRule extends RuleBase {
  readonly match_json: JsonObject
  readonly action_json: JsonObject
}

/** docs/api.md, "Firewall rules". */
export interface FirewallRule extends RuleBase {
  readonly scope: 'prompt' | 'response'
  readonly type: 'substring' | 'regex'
  readonly pattern: string
  readonly action: 'block' | 'mask' | 'warn'
  readonly replacement: string | null
}

/** A user's rules at one moment, each list in evaluation order. Never changed: a rule change makes a new set. */
export interface RuleSet {
  readonly userId: number
  /** Position of the user's last rule event; 0 when there is none. */
  readonly position: Position
  /** Set on one that is not the user's present set: what is compiled from it is not kept. */
  readonly transient?: true
  readonly routing: readonly RoutingRule[]
  readonly firewall: readonly FirewallRule[]
}

/** What an automatic choice favours (docs/api.md, "Models and routing modes"). */
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

/** Every accepted spelling, for error messages and schemas. */
export const MODE_SPELLINGS = Object.keys(ALIASES)

/** The canonical mode for a spelling in any case, or undefined. */
export function parseMode(spelling: string): Mode | undefined {
  const key = spelling.toLowerCase()
  return Object.hasOwn(ALIASES, key) ? ALIASES[key] : undefined
}
