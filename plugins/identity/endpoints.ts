import { data, type Endpoint, endpoint, GatewayError, operator } from '../../core/contract/index.ts'
import { Success } from '../../core/http/schemas.ts'
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { identityId, identityStream } from '../../projections/events/identities.ts'
import type { Identities } from '../../projections/identities.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { requireUser, UserIdentity, userId, userNotFoundError } from '../auth/index.ts'

interface IdentityServices {
  readonly accounts: Pick<Accounts, 'user'>
  readonly identities: Identities
  readonly writer: EventWriter
}

/** Creates the endpoints that link a user to the subject of an identity provider. */
export function createIdentityEndpoints(services: IdentityServices): readonly Endpoint[] {
  const { accounts, identities, writer } = services
  const common = {
    path: '/admin/users/{id}/identity',
    access: operator('admin'),
    tags: ['admin'],
    params: { id: userId },
    notFound: userNotFoundError,
  } as const

  return [
    endpoint({
      ...common,
      method: 'PUT',
      operationId: 'linkUserIdentity',
      summary: 'Links a user to a subject of an identity provider, whose tokens are then theirs.',
      description: 'Replaces the subject that the user is linked to.',
      body: UserIdentity,
      examples: { workload: { issuer: 'https://idp.example.com', subject: '8d7f' } },
      responses: { 200: { description: 'The subject.', body: data(UserIdentity) } },
      errors: WRITE_ERRORS,
      async handle({ params, body: { issuer, subject }, author }) {
        const identity = identityId('subject', issuer, subject)
        const decide = () => {
          const { id } = requireUser(accounts, params.id)
          const linkedTo = identities.linkedTo(identity)
          if (linkedTo === id) return []
          if (linkedTo === undefined || accounts.user(linkedTo) === undefined)
            return [{ type: 'IdentityLinked' as const, data: { identity, issuer, subject, userId: id } }]
          const advice = 'Remove that link, or delete the user, first.'
          throw new GatewayError('conflict', `User ${linkedTo} is linked to this subject. ${advice}`)
        }
        writer.checkAvailable()
        const revision = () => identities.revision(identity)
        await answerInTime(writer.write({ stream: identityStream(identity), revision, decide }, author))
        return { status: 200, body: { data: { issuer, subject } } }
      },
    }),
    endpoint({
      ...common,
      method: 'DELETE',
      operationId: 'unlinkUserIdentity',
      summary: 'Removes the link of a user to a subject of an identity provider.',
      description: 'Does nothing if there is none. Tokens of the subject are no longer accepted as theirs.',
      responses: { 200: { description: 'The user is not linked.', body: Success } },
      errors: WRITE_ERRORS,
      async handle({ params, author }) {
        const { id } = requireUser(accounts, params.id)
        const linked = identities.identityOf(id)
        if (linked === undefined) return { status: 200, body: { success: true } }
        const identity = identityId('subject', linked.issuer, linked.subject)
        const decide = () =>
          identities.linkedTo(identity) === id
            ? [{ type: 'IdentityUnlinked' as const, data: { identity, userId: id } }]
            : []
        writer.checkAvailable()
        const revision = () => identities.revision(identity)
        await answerInTime(writer.write({ stream: identityStream(identity), revision, decide }, author))
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}
