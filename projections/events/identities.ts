import { createHash } from 'node:crypto'
import { Type } from '../../core/contract/index.ts'
import { defineEvent, type EventOf, Id, streamCategory } from '../../core/events/define-event.ts'

/**
 * Who somebody is at an identity provider, in a stream per subject: of several processes that see a subject
 * first, one links it.
 */
export const identityStream = streamCategory('identity-', 'identity')

export const identityEvents = [
  /** From now on, tokens with this issuer and subject are the user's. */
  defineEvent({
    type: 'IdentityLinked',
    schema: Type.Object({
      identity: Type.String(),
      issuer: Type.String(),
      subject: Type.String(),
      userId: Id,
    }),
    stream: identityStream,
    audit: { kind: 'user', change: 'identity_linked', id: 'userId' },
  }),
  defineEvent({
    type: 'IdentityUnlinked',
    schema: Type.Object({ identity: Type.String(), userId: Id }),
    stream: identityStream,
    audit: { kind: 'user', change: 'identity_unlinked', id: 'userId' },
  }),
  /** From now on, tokens of the issuer that name the group are of members of this one. */
  defineEvent({
    type: 'GroupClaimLinked',
    schema: Type.Object({
      identity: Type.String(),
      issuer: Type.String(),
      group: Type.String(),
      groupId: Id,
    }),
    stream: identityStream,
    audit: { kind: 'group', change: 'claim_linked', id: 'groupId' },
  }),
] as const

export type IdentityEvent = EventOf<typeof identityEvents>

/** The id of a subject, or of a group, of an identity provider. */
export function identityId(kind: 'subject' | 'group', issuer: string, value: string): string {
  return createHash('sha256')
    .update(JSON.stringify([kind, issuer, value]))
    .digest('hex')
    .slice(0, 32)
}
