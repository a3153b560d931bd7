import type { Budget } from './domain-events.ts'

/**
 * Changes to a group of users, in stream `group-{id}`. Its members are in the streams of the users. See
 * docs/decisions/policies.md, "A membership is an event of the user".
 */
export type GroupEvent =
  | { type: 'GroupCreated'; data: { groupId: number } & GroupContent }
  | { type: 'GroupUpdated'; data: { groupId: number; changes: Partial<GroupContent> } }
  | { type: 'GroupDeleted'; data: { groupId: number } }
  | { type: 'GroupBudgetSet'; data: { groupId: number; budget: Budget } }
  | { type: 'GroupBudgetRemoved'; data: { groupId: number } }

/** The fields of a group that operators set. */
export type GroupContent = {
  readonly name: string
  readonly description: string | null
}

export const groupStream = (groupId: number): string => `group-${groupId}`
