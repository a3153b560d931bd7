import {
  Nullable,
  OPERATOR_ROLES,
  type OperatorRole,
  type Static,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { createFold, defineEvent, type EventOf, Id, Time } from '../../core/events/define-event.ts'

/** Changes to operators, all in one stream. Keys are stored as SHA-256 only. */
export const OPERATORS_STREAM = 'operators'

const scopeOfOperator = Type.Object({ groups: Type.Array(Id) })

/** The groups that an operator is confined to, whether they still exist or not. */
type ScopeOfOperator = Readonly<Static<typeof scopeOfOperator>>

const external = Type.Object({ issuer: Type.String(), subject: Type.String() })

type ExternalIdentity = Readonly<Static<typeof external>>

/** A person or program that operates the gateway. */
export interface OperatorAccount {
  /** `operator_…`. */
  readonly id: string
  readonly name: string
  readonly role: OperatorRole
  /** Null: everything. */
  readonly scope: ScopeOfOperator | null
  /** SHA-256 of the key in hex. Missing if an identity provider signs the operator in. */
  readonly hash?: string
  /** Who the operator is at an identity provider. */
  readonly external?: ExternalIdentity
  /** When the key expires; null if it does not. */
  readonly expiresAt: string | null
  /** The key before the last rotation, while it may be valid. */
  readonly replaced?: { readonly hash: string; readonly expiresAt: string }
  readonly createdAt: string
  /** Number of its changes, from 1. */
  readonly revision: number
}

const role = StringEnum(OPERATOR_ROLES)

/** Missing in events of operators of everything that are older than scopes. */
const scope = Type.Optional(Nullable(scopeOfOperator))

const expiresAt = Type.Optional(Nullable(Time))

const audited = <const Change extends string>(change: Change) =>
  ({ kind: 'operator', change, id: 'operatorId' }) as const

export const operatorEvents = [
  defineEvent({
    type: 'OperatorCreated',
    schema: Type.Object({
      operatorId: Type.String(),
      name: Type.String(),
      role,
      scope,
      expiresAt,
      hash: Type.Optional(Type.String()),
      external: Type.Optional(external),
    }),
    stream: OPERATORS_STREAM,
    audit: audited('created'),
    create(
      { operatorId: id, name, role, scope = null, expiresAt = null, hash, external },
      { metadata },
    ): OperatorAccount {
      const proof = { ...(hash !== undefined && { hash }), ...(external !== undefined && { external }) }
      return { id, name, role, scope, ...proof, expiresAt, createdAt: metadata.time, revision: 1 }
    },
  }),
  defineEvent({
    type: 'OperatorChanged',
    schema: Type.Object({
      operatorId: Type.String(),
      changes: Type.Object({
        name: Type.Optional(Type.String()),
        role: Type.Optional(role),
        scope,
        expiresAt,
      }),
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
    type: 'OperatorKeyRotated',
    schema: Type.Object({
      operatorId: Type.String(),
      hash: Type.String(),
      expiresAt: Nullable(Time),
      /** How long the replaced key stays valid; null: it is invalid now. */
      replacedUntil: Nullable(Time),
    }),
    stream: OPERATORS_STREAM,
    isUrgent: true,
    audit: audited('key_rotated'),
    fold({ replaced: _, ...operator }: OperatorAccount, { hash, expiresAt, replacedUntil }) {
      const { hash: before } = operator
      return {
        ...operator,
        hash,
        expiresAt,
        ...(replacedUntil !== null && before && { replaced: { hash: before, expiresAt: replacedUntil } }),
        revision: operator.revision + 1,
      }
    },
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
