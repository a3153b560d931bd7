import type { Position } from './event-log.ts'

export const PLANS = ['free', 'paid'] as const

export type Plan = (typeof PLANS)[number]

export function isPlan(text: string): text is Plan {
  return (PLANS as readonly string[]).includes(text)
}

/** A user's own limit of requests per minute: `null` is none, left out the plan's limit holds. */
export type RequestLimit = number | null

/** Who is calling, as the auth plugin found it. */
export interface Account {
  readonly userId: number
  readonly name: string
  readonly plan: Plan
  readonly requestsPerMinute?: RequestLimit
  readonly keyId: string
  /** Position of the last event about this user. */
  readonly position: Position
}
