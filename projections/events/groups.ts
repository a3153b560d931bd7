import { Nullable, type Static, Type } from '../../core/contract/index.ts'
import {
  createFold,
  defineEvent,
  type EventEntry,
  type EventOf,
  Id,
  streamCategory,
} from '../../core/events/define-event.ts'
import { type Budget, BudgetData } from './budgets.ts'

/**
 * The stream of a group. Its members are in the streams of the users. See docs/decisions/policies.md, "A
 * membership is an event of the user".
 */
export const groupStream = streamCategory('group-', 'groupId')

/** The fields of a group that operators set. */
const content = Type.Object({ name: Type.String(), description: Nullable(Type.String()) })

export type GroupContent = Readonly<Static<typeof content>>

/** A group of users. `revision` counts the group's events from 1; it is the group's ETag. */
export interface Group extends GroupContent {
  readonly id: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly revision: number
  readonly budget?: Budget
}

const audited = <const Change extends string>(change: Change) =>
  ({ kind: 'group', change, id: 'groupId' }) as const

export const groupEvents = [
  defineEvent({
    type: 'GroupCreated',
    schema: Type.Object({ groupId: Id, ...content.properties }),
    stream: groupStream,
    audit: audited('created'),
    assigns: ({ groupId }) => groupId,
    create({ groupId: id, ...group }, record): Group {
      const { time } = record.metadata
      return { id, ...group, createdAt: time, updatedAt: time, revision: revisionAfter(record) }
    },
  }),
  defineEvent({
    type: 'GroupUpdated',
    schema: Type.Object({ groupId: Id, changes: Type.Partial(content) }),
    stream: groupStream,
    audit: audited('updated'),
    fold(group: Group, { changes }, record) {
      return { ...group, ...changes, updatedAt: record.metadata.time, revision: revisionAfter(record) }
    },
  }),
  defineEvent({
    type: 'GroupDeleted',
    schema: Type.Object({ groupId: Id }),
    stream: groupStream,
    audit: audited('deleted'),
    fold: () => undefined,
  }),
  defineEvent({
    type: 'GroupBudgetSet',
    schema: Type.Object({ groupId: Id, budget: BudgetData }),
    stream: groupStream,
    audit: audited('budget_set'),
    fold: (group: Group, { budget }, record) => ({ ...group, budget, revision: revisionAfter(record) }),
  }),
  defineEvent({
    type: 'GroupBudgetRemoved',
    schema: Type.Object({ groupId: Id }),
    stream: groupStream,
    audit: audited('budget_removed'),
    fold({ budget: _, ...group }: Group, _data, record) {
      return { ...group, revision: revisionAfter(record) }
    },
  }),
] as const

/** Revisions of groups count from 1, those of streams from 0. */
function revisionAfter({ revision }: EventEntry): number {
  return revision + 1
}

export type GroupEvent = EventOf<typeof groupEvents>

export const foldGroup = createFold<GroupEvent, Group>(groupEvents)
