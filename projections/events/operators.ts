import { OPERATOR_ROLES, type OperatorRole, StringEnum, Type } from '../../core/contract/index.ts'
import { createFold, defineEvent, type EventOf } from '../../core/events/define-event.ts'

/** Changes to operators, all in one stream. Keys are stored as SHA-256 only. */
export const OPERATORS_STREAM = 'operators'

/** A person or program that operates the gateway. */
export interface OperatorAccount {
  /** `operator_…`. */
  readonly id: string
  readonly name: string
  readonly role: OperatorRole
  /** SHA-256 of the key in hex. */
  readonly hash: string
  readonly createdAt: string
  /** Number of its changes, from 1. */
  readonly revision: number
}

const role = StringEnum(OPERATOR_ROLES)

const audited = <const Change extends string>(change: Change) =>
  ({ kind: 'operator', change, id: 'operatorId' }) as const

export const operatorEvents = [
  defineEvent({
    type: 'OperatorCreated',
    schema: Type.Object({ operatorId: Type.String(), name: Type.String(), role, hash: Type.String() }),
    stream: OPERATORS_STREAM,
    audit: audited('created'),
    create({ operatorId: id, name, role, hash }, { metadata }): OperatorAccount {
      return { id, name, role, hash, createdAt: metadata.time, revision: 1 }
    },
  }),
  defineEvent({
    type: 'OperatorChanged',
    schema: Type.Object({
      operatorId: Type.String(),
      changes: Type.Object({ name: Type.Optional(Type.String()), role: Type.Optional(role) }),
    }),
    stream: OPERATORS_STREAM,
    audit: audited('updated'),
    fold: (operator: OperatorAccount, { changes }) => ({
      ...operator,
      ...changes,
      revision: operator.revision + 1,
    }),
  }),
  defineEvent({
    type: 'OperatorRemoved',
    schema: Type.Object({ operatorId: Type.String() }),
    stream: OPERATORS_STREAM,
    isUrgent: true,
    audit: audited('removed'),
    fold: () => undefined,
  }),
] as const

export type OperatorEvent = EventOf<typeof operatorEvents>

export const foldOperator = createFold<OperatorEvent, OperatorAccount>(operatorEvents)
