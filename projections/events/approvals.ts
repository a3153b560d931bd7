import { createHash } from 'node:crypto'
import { type Actor, type Position, type Static, Type } from '../../core/contract/index.ts'
import {
  createFold,
  defineEvent,
  type EventEntry,
  type EventOf,
  Id,
  streamCategory,
  Time,
} from '../../core/events/define-event.ts'

/** The stream of an approval. Of several processes that ask for the same one, one creates it. */
export const approvalStream = streamCategory('approval-', 'approvalId')

/** What an approval is bound to: exactly this call, under exactly these rules. */
const boundTo = Type.Object({
  userId: Id,
  server: Type.String(),
  tool: Type.String(),
  /** SHA-256 of the arguments as canonical JSON, in hexadecimal digits. The arguments are in no event. */
  argumentsDigest: Type.String(),
  /** Log position of the rules that required the approval. */
  rulesPosition: Type.Integer({ minimum: 0 }),
})

export type ApprovedCall = Readonly<Static<typeof boundTo>>

export const APPROVAL_STATUSES = ['pending', 'granted', 'denied', 'used', 'expired'] as const

export type ApprovalStatus = (typeof APPROVAL_STATUSES)[number]

/** The status is that of the events: whether the approval has expired depends on the time. */
export interface Approval extends ApprovedCall {
  readonly id: string
  readonly sessionId?: string | undefined
  readonly ruleId: number
  readonly ruleName: string
  readonly status: Exclude<ApprovalStatus, 'expired'>
  readonly createdAt: string
  /** When it can no longer be granted, or used once it was granted. */
  readonly expiresAt: string
  readonly decidedAt?: string
  readonly decidedBy?: Actor | undefined
  /** Id of the request whose call used it. */
  readonly usedBy?: string
  /** Log position of the request for it. */
  readonly position: Position
  readonly revision: number
}

const audited = <const Change extends string>(change: Change) =>
  ({ kind: 'approval', change, id: 'approvalId' }) as const

export const approvalEvents = [
  defineEvent({
    type: 'ApprovalRequested',
    schema: Type.Object({
      approvalId: Type.String(),
      ...boundTo.properties,
      sessionId: Type.Optional(Type.String()),
      ruleId: Id,
      ruleName: Type.String(),
      expiresAt: Time,
    }),
    stream: approvalStream,
    audit: audited('requested'),
    create: ({ approvalId: id, ...call }, { position, metadata: { time } }): Approval => ({
      ...{ id, ...call, status: 'pending', createdAt: time, position, revision: 0 },
    }),
  }),
  defineEvent({
    type: 'ApprovalGranted',
    schema: Type.Object({ approvalId: Type.String(), userId: Id, expiresAt: Time }),
    stream: approvalStream,
    audit: audited('granted'),
    fold: (approval: Approval, { expiresAt }, entry) => ({
      ...decided(approval, 'granted', entry),
      expiresAt,
    }),
  }),
  defineEvent({
    type: 'ApprovalDenied',
    schema: Type.Object({ approvalId: Type.String(), userId: Id }),
    stream: approvalStream,
    isUrgent: true,
    audit: audited('denied'),
    fold: (approval: Approval, _, entry) => decided(approval, 'denied', entry),
  }),
  /** The call is about to be sent. No other one can use the approval. */
  defineEvent({
    type: 'ApprovalUsed',
    schema: Type.Object({ approvalId: Type.String(), userId: Id, requestId: Type.String() }),
    stream: approvalStream,
    audit: audited('used'),
    fold: (approval: Approval, { requestId: usedBy }, { revision }): Approval => ({
      ...{ ...approval, status: 'used', usedBy, revision },
    }),
  }),
] as const

function decided(
  approval: Approval,
  status: 'granted' | 'denied',
  { revision, metadata }: EventEntry,
): Approval {
  return { ...approval, status, decidedAt: metadata.time, decidedBy: metadata.actor, revision }
}

export type ApprovalEvent = EventOf<typeof approvalEvents>

export const foldApproval = createFold<ApprovalEvent, Approval>(approvalEvents)

/** A text that two approvals share if they are bound to the same. */
export function approvalKey(call: ApprovedCall): string {
  const { userId, server, tool, argumentsDigest, rulesPosition } = call
  return JSON.stringify([userId, server, tool, argumentsDigest, rulesPosition])
}

/**
 * The id of an approval, the same in all processes that ask for it at the same time. `attempt`: how many of
 * the same key were asked for on this day before.
 */
export function createApprovalId(key: string, day: string, attempt: number): string {
  const digest = createHash('sha256').update(JSON.stringify([key, day, attempt]))
  return `apr_${digest.digest('hex').slice(0, 24)}`
}

/** The status at a time: nobody writes an event when an approval expires. */
export function statusAt({ status, expiresAt }: Approval, nowMs: number): ApprovalStatus {
  const isOpen = status === 'pending' || status === 'granted'
  return isOpen && Date.parse(expiresAt) <= nowMs ? 'expired' : status
}
