import type { Plan, RequestLimit } from '../contract/index.ts'

/** What happens to a user and to the user's keys; stream `user-{id}`. Of a key only the SHA-256 is ever written. */
export type UserEvent =
  | { type: 'UserCreated'; data: { userId: number; name: string; plan: Plan } }
  | { type: 'PlanChanged'; data: { userId: number; plan: Plan } }
  | { type: 'RequestLimitChanged'; data: { userId: number; requestsPerMinute?: RequestLimit } }
  | { type: 'KeyIssued'; data: { userId: number; keyId: string; hash: string } }
  | { type: 'KeyRevoked'; data: { userId: number; keyId: string } }

export const userStream = (userId: number): string => `user-${userId}`
