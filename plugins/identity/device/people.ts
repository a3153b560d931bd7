import { EventLogUnavailableError, GatewayError, type JsonObject } from '../../../core/contract/index.ts'
import type { GrantClient, GrantHolder } from '../../../projections/events/grants.ts'
import type { OperatorAccount } from '../../../projections/events/operators.ts'
import { hasRequired, readClaimed } from '../claimed.ts'
import { identityError } from '../errors.ts'
import type { createKnownUsers } from '../known-users.ts'
import type { CallerSettings } from '../settings.ts'
import type { SignedIn, SignIn } from '../sign-in.ts'
import type { AskProvider } from './sign-ins.ts'

interface PeopleServices {
  readonly signIn: Pick<SignIn, 'refresh'>
  /** Undefined for a person without a role. */
  readonly syncOperator: (person: SignedIn, requestId: string) => Promise<OperatorAccount | undefined>
  readonly syncUser: ReturnType<typeof createKnownUsers>
  /** The rows of the issuer: they say what becomes of claims. */
  readonly callers: readonly CallerSettings[]
}

/** People who approve programs after they have signed in at the identity provider. */
export interface People {
  /**
   * Makes the user or operator agree with what the provider says, as tokens of the provider do. Rejects with
   * 403 for somebody who is neither.
   */
  toHolder(client: GrantClient, person: SignedIn, requestId: string): Promise<GrantHolder>
  /** What `askProvider` needs later; undefined if the provider cannot be asked. */
  providerOf(person: SignedIn): string | undefined
  readonly askProvider: AskProvider
}

/** The claims that rows read. */
export function listClaims(callers: readonly CallerSettings[]): readonly string[] {
  return callers.flatMap(({ user, groups, require = {} }) => [
    ...[user?.id, user?.name, groups?.claim].filter((claim) => claim !== undefined),
    ...Object.keys(require),
  ])
}

export function createPeople({ signIn, syncOperator, syncUser, callers }: PeopleServices): People {
  /** The first row whose required claims a person has; a plain one if there are no rows. */
  function findRow({ issuer, claims }: SignedIn): Omit<CallerSettings, 'audience'> {
    if (callers.length === 0) return { issuer }
    const row = callers.find((candidate) => hasRequired(claims, candidate))
    if (row !== undefined) return row
    throw identityError('sign_in_refused', 'You are signed in, but may not call this gateway.')
  }

  async function toHolder(client: GrantClient, person: SignedIn, requestId: string): Promise<GrantHolder> {
    const { issuer, subject } = person
    if (client === 'cli') {
      const operator = await syncOperator(person, requestId)
      if (operator !== undefined) return { type: 'operator', id: operator.id, issuer, subject }
      throw identityError('role_missing', 'You are signed in, but have no role of an operator here.')
    }
    const claimed = readClaimed(person.claims, findRow(person))
    const userId = await syncUser(claimed, requestId)
    return { type: 'identity', id: String(userId), issuer, subject: claimed.subject }
  }

  return {
    toHolder,
    providerOf: ({ subject, refreshToken }) =>
      refreshToken === undefined ? undefined : JSON.stringify({ subject, refreshToken }),
    async askProvider(provider, holder, requestId) {
      // The cast is safe: `providerOf` has made it, and nobody else can seal it.
      const { subject, refreshToken } = JSON.parse(provider) as JsonObject & Record<string, string>
      const client = holder.type === 'operator' ? 'cli' : 'claude_code'
      let next: string | undefined
      try {
        const person = await signIn.refresh(refreshToken ?? '', subject ?? '')
        next = JSON.stringify({ subject, refreshToken: person.refreshToken ?? refreshToken })
        const now = await toHolder(client, person, requestId)
        return now.id === holder.id ? { provider: next } : { error: 'invalid_grant' }
      } catch (error) {
        const isKnown = GatewayError.isInstance(error)
        if (!isKnown && !EventLogUnavailableError.isInstance(error)) throw error
        if (isKnown && error.status < 500) return { error: 'invalid_grant' }
        return { error: 'temporarily_unavailable', ...(next !== undefined && { provider: next }) }
      }
    },
  }
}
