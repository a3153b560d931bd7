import type { Position } from './event-log.ts'

export type Plan = 'free' | 'paid'

/** Who is calling, as the auth plugin found it. */
export interface Account {
  readonly userId: number
  readonly name: string
  readonly plan: Plan
  readonly keyId: string
  /** Position of the last event about this user. */
  readonly position: Position
}
