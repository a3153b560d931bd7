import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { GatewayError, type JsonObject, type MaybePromise } from '../../core/contract/index.ts'
import type { Sealer } from '../../core/secrets/sealer.ts'
import type { SharedCounters, SharedStore } from '../../core/shared-state/shared-state.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { OperatorAccount } from '../../projections/events/operators.ts'
import { createEndedError, SESSION_HOURS, type Session, type SessionRenewal } from '../auth/index.ts'
import { identityError } from './errors.ts'
import type { SignedIn, SignIn } from './sign-in.ts'

/** A session that was checked longer ago is checked when it is next used. */
const DUE_MS = 600_000

/** While the provider cannot be reached, a session is valid until its last check is this long ago. */
export const MAX_UNCHECKED_MS = 900_000

/** One process at a time checks a session: a refresh token that is used twice counts as stolen. */
const LOCK_SECONDS = 10

const POLL_MS = 100

/** Five megabytes. */
const MAX_KNOWN_SESSIONS = 20_000

interface ExternalSessionServices {
  readonly signIn: Pick<SignIn, 'issuer' | 'refresh'>
  readonly syncOperator: (person: SignedIn, requestId: string) => Promise<OperatorAccount | undefined>
  readonly sealer: Sealer
  readonly store: SharedStore
  readonly counters: SharedCounters
  readonly logger: Logger
  readonly signal: AbortSignal
}

/** What the shared state keeps of a session, sealed. */
interface KeptSession {
  readonly refreshToken?: string
  readonly idToken?: string
  /** When the provider was asked last, in Unix milliseconds. */
  readonly checkedAtMs: number
}

/** Sessions of people whom the identity provider has signed in, which are checked there again and again. */
export interface ExternalSessions extends SessionRenewal {
  /** Keeps the tokens of a session that begins. Rejects if they cannot be kept. */
  keep(id: string, person: SignedIn): Promise<void>
  /** The ID token of a session; undefined if there is none. */
  idTokenOf(id: string): Promise<string | undefined>
}

/**
 * See docs/decisions/console.md, "A session of the identity provider is checked every ten minutes".
 */
export function createExternalSessions(services: ExternalSessionServices): ExternalSessions {
  const { signIn, syncOperator, sealer, store, counters, logger, signal } = services
  /** When each session was checked last, as this process knows. */
  const checked = createBoundedCache<string, number>(MAX_KNOWN_SESSIONS)
  /** When to try again after a failure. */
  const retryAt = createBoundedCache<string, number>(MAX_KNOWN_SESSIONS)
  const renewing = new Map<string, Promise<void>>()

  const wasCheckedWithin = (ms: number, checkedAtMs: number) => Date.now() - checkedAtMs < ms

  async function read(id: string): Promise<KeptSession | undefined> {
    const json = await Promise.resolve(store.get(id)).catch(rejectUnavailable)
    // The cast is safe: nobody else can seal.
    return json === undefined ? undefined : (sealer.open(JSON.parse(json), id) as KeptSession | undefined)
  }

  async function write(id: string, kept: KeptSession): Promise<void> {
    const json = JSON.stringify(sealer.seal(kept as JsonObject & KeptSession, id))
    await Promise.resolve(store.set(id, json, SESSION_HOURS * 3600)).catch(rejectUnavailable)
  }

  async function forget(id: string): Promise<void> {
    checked.delete(id)
    await Promise.resolve(store.delete(id)).catch(rejectUnavailable)
  }

  function rejectUnavailable(error: unknown): never {
    logger.warn({ reason: errorMessage(error) }, 'shared state of the sessions unavailable')
    const message = 'The session cannot be checked, because the shared state is unavailable.'
    throw identityError('identity_unavailable', message, { retryAfter: LOCK_SECONDS })
  }

  /** Throws 503 unless the last check is recent enough for the session to live on. */
  function tolerate({ checkedAtMs }: KeptSession): void {
    if (wasCheckedWithin(MAX_UNCHECKED_MS, checkedAtMs)) return
    const message = 'The session cannot be checked, because the identity provider cannot be reached.'
    throw identityError('identity_unavailable', message, { retryAfter: LOCK_SECONDS })
  }

  async function renew({ id, holder }: Session, requestId: string): Promise<void> {
    const kept = await read(id)
    if (holder.type !== 'operator' || kept === undefined) throw createEndedError()
    const { refreshToken, checkedAtMs } = kept
    checked.set(id, checkedAtMs)
    // Without a refresh token, the session is as short as it may go unchecked.
    if (wasCheckedWithin(DUE_MS, checkedAtMs) || refreshToken === undefined) return
    if ((retryAt.get(id) ?? 0) > Date.now()) return tolerate(kept)
    const lock = await Promise.resolve(counters.add(id, 1, LOCK_SECONDS)).catch(rejectUnavailable)
    if (lock.total > 1) return awaitOther(id, kept)
    try {
      await check(id, holder.operator, { ...kept, refreshToken }, requestId)
    } finally {
      await Promise.resolve(counters.giveBack(id, 1, lock.window)).catch(() => undefined)
    }
  }

  /** Waits for the process that checks the session, if it has not been checked for too long. */
  async function awaitOther(id: string, before: KeptSession): Promise<void> {
    const until = performance.now() + LOCK_SECONDS * 1000
    while (!wasCheckedWithin(MAX_UNCHECKED_MS, before.checkedAtMs)) {
      await setTimeout(POLL_MS, undefined, { signal })
      const kept = await read(id)
      if (kept === undefined) throw createEndedError()
      if (wasCheckedWithin(DUE_MS, kept.checkedAtMs)) {
        checked.set(id, kept.checkedAtMs)
        return
      }
      if (performance.now() >= until) return tolerate(kept)
    }
  }

  async function check(
    id: string,
    { external, id: operatorId, role }: OperatorAccount,
    kept: KeptSession & { readonly refreshToken: string },
    requestId: string,
  ): Promise<void> {
    const checkedAtMs = Date.now()
    let person: SignedIn
    try {
      person = await signIn.refresh(kept.refreshToken, external?.subject ?? '')
    } catch (error) {
      if (!GatewayError.isInstance(error)) throw error
      if (error.code === 'identity_unavailable') {
        retryAt.set(id, Date.now() + LOCK_SECONDS * 1000)
        return tolerate(kept)
      }
      logger.info({ operator: operatorId, code: error.code }, 'session ended by the identity provider')
      await forget(id)
      throw createEndedError()
    }
    const tokens = toKept({ ...person, idToken: person.idToken ?? kept.idToken })
    try {
      const operator = await syncOperator(person, requestId)
      if (operator?.id !== operatorId || operator.role !== role) {
        await forget(id)
        throw createEndedError()
      }
    } catch (error) {
      // The former refresh token may be used up.
      if (!GatewayError.isInstance(error)) await write(id, { ...tokens, checkedAtMs: kept.checkedAtMs })
      throw error
    }
    await write(id, { ...tokens, checkedAtMs })
    checked.set(id, checkedAtMs)
  }

  function confirm(session: Session, requestId: string): MaybePromise<void> {
    const { id, holder } = session
    if (holder.type !== 'operator' || holder.operator.external?.issuer !== signIn.issuer)
      throw createEndedError()
    const checkedAtMs = checked.get(id)
    if (checkedAtMs !== undefined && wasCheckedWithin(DUE_MS, checkedAtMs)) return
    const pending = renewing.get(id) ?? renew(session, requestId).finally(() => renewing.delete(id))
    renewing.set(id, pending)
    return pending
  }

  return {
    confirm,
    isCurrent: (id) => wasCheckedWithin(MAX_UNCHECKED_MS, checked.get(id) ?? Number.NEGATIVE_INFINITY),
    async keep(id, person) {
      const checkedAtMs = Date.now()
      await write(id, { ...toKept(person), checkedAtMs })
      checked.set(id, checkedAtMs)
    },
    idTokenOf: async (id) => (await read(id))?.idToken,
    end: forget,
  }
}

function toKept({ refreshToken, idToken }: Pick<SignedIn, 'refreshToken' | 'idToken'>) {
  return { ...(refreshToken !== undefined && { refreshToken }), ...(idToken !== undefined && { idToken }) }
}
