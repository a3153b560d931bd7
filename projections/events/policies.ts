import { Nullable, type Static, StringEnum, Type } from '../../core/contract/index.ts'
import { createFold, defineEvent, type EventOf, Id, streamCategory } from '../../core/events/define-event.ts'

/**
 * The stream of the settings of a policy, and of its rules. See docs/decisions/policies.md, "A policy is one
 * stream".
 */
export const policyStream = streamCategory('policy-', 'policyId')

/** What users see of the rules of a policy. */
const VISIBILITIES = ['name', 'full'] as const

const Ids = Type.Unsafe<readonly number[]>(Type.Array(Id))

/** The users that a policy applies to. */
export type PolicyScope =
  | { readonly everyone: true }
  | { readonly groups: readonly number[]; readonly users: readonly number[] }

/** The fields of a policy that operators set. */
const content = Type.Object({
  name: Type.String(),
  description: Nullable(Type.String()),
  isEnabled: Type.Boolean(),
  /** Policies with a higher priority are evaluated first; of equal ones, the older one. */
  priority: Type.Number(),
  appliesTo: Type.Unsafe<PolicyScope>(
    Type.Union([Type.Object({ everyone: Type.Literal(true) }), Type.Object({ groups: Ids, users: Ids })]),
  ),
  /** Undefined: `name`. */
  visibility: Type.Optional(StringEnum(VISIBILITIES)),
})

export type PolicyContent = Readonly<Static<typeof content>>

/** The settings of a policy. `revision` counts their events from 1; it is the policy's ETag. */
export interface Policy extends PolicyContent {
  readonly id: number
  readonly createdAt: string
  readonly updatedAt: string
  readonly revision: number
}

const audited = <const Change extends string>(change: Change) =>
  ({ kind: 'policy', change, id: 'policyId' }) as const

export const policyEvents = [
  defineEvent({
    type: 'PolicyCreated',
    schema: Type.Object({ policyId: Id, ...content.properties }),
    stream: policyStream,
    audit: audited('created'),
    assigns: ({ policyId }) => policyId,
    create({ policyId: id, ...policy }, { metadata: { time } }): Policy {
      return { id, ...policy, createdAt: time, updatedAt: time, revision: 1 }
    },
  }),
  defineEvent({
    type: 'PolicyUpdated',
    schema: Type.Object({ policyId: Id, changes: Type.Partial(content) }),
    stream: policyStream,
    audit: audited('updated'),
    fold: (policy: Policy, { changes }, { metadata: { time } }) => ({
      ...policy,
      ...changes,
      updatedAt: time,
      revision: policy.revision + 1,
    }),
  }),
  defineEvent({
    type: 'PolicyDeleted',
    schema: Type.Object({ policyId: Id }),
    stream: policyStream,
    audit: audited('deleted'),
    fold: () => undefined,
  }),
] as const

export type PolicyEvent = EventOf<typeof policyEvents>

export const foldPolicy = createFold<PolicyEvent, Policy>(policyEvents)
