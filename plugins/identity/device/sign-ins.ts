import { setTimeout } from 'node:timers/promises'
import type { Author } from '../../../core/contract/index.ts'
import { createSealer } from '../../../core/secrets/sealer.ts'
import type { SecretFile } from '../../../core/secrets/secret-file.ts'
import type { SharedState } from '../../../core/shared-state/shared-state.ts'
import { newGrantId } from '../../../core/util/ids.ts'
import {
  type Grant,
  type GrantClient,
  type GrantHolder,
  grantStream,
} from '../../../projections/events/grants.ts'
import type { Grants } from '../../../projections/grants.ts'
import type { EventWriter } from '../../../projections/runtime/write.ts'
import { accessTokenSeconds, type GrantSubject, type IssuedTokens } from '../../auth/index.ts'

/** How long a program stays signed in, in hours: an operator as long as a session of the console. */
const LIFETIME_HOURS: Readonly<Record<GrantClient, number>> = { claude_code: 30 * 24, cli: 12 }

/** Processes of a program may refresh at once with the same token, so a replaced one serves for this time. */
const GRACE_MS = 60_000

/** Less than programs wait for an answer. */
const LOCK_SECONDS = 8

const POLL_MS = 100

type RefreshError = 'invalid_grant' | 'temporarily_unavailable'

/**
 * Asks the identity provider whether somebody may still sign in, and takes over what it says of the person.
 * `provider` is what that needs.
 */
export type AskProvider = (provider: string, holder: GrantHolder, requestId: string) => Promise<Asked>

/** `provider`: what the next time needs, also if the answer could not be taken over. */
type Asked =
  | { readonly provider: string; readonly error?: RefreshError }
  | { readonly provider?: undefined; readonly error: RefreshError }

/** As RFC 6749, 5.1, describes it. */
export interface TokenAnswer {
  readonly access_token: string
  readonly refresh_token?: string
  readonly token_type: 'Bearer'
  readonly expires_in: number
  /** What Claude Code shows of the person. */
  readonly email?: string
}

export type Refreshed = TokenAnswer | { readonly error: RefreshError }

export type Completed = TokenAnswer | { readonly error: 'authorization_pending' | 'expired_token' }

/** Sign-ins of programs: each is a grant, whose beginning and end are events. */
export interface SignIns {
  /** Throws unless somebody may act as the holder. Resolves with the id of the grant. */
  approve(client: GrantClient, holder: GrantHolder, requestId: string): Promise<string>
  /** Gives a program its first tokens, once. Another node may know a grant before this one does. */
  complete(grantId: string, provider: string | undefined, requestId: string): Promise<Completed>
  refresh(refreshToken: string, requestId: string): Promise<Refreshed>
  /** Ends the sign-in of a refresh or access token; does nothing for any other text. */
  revoke(token: string, requestId: string): Promise<void>
  /** Who an access token is of. */
  read: IssuedTokens['read']
}

interface SignInServices {
  readonly grants: Pick<Grants, 'find'>
  readonly writer: Pick<EventWriter, 'write'>
  readonly tokens: IssuedTokens
  readonly secret: SecretFile
  readonly sharedState: SharedState
  /** Undefined where nobody signs in at an identity provider. */
  readonly askProvider: AskProvider | undefined
  /** Ends waits for other processes. */
  readonly signal: AbortSignal
}

/** A grant, and who may act by it now. */
interface ActiveGrant {
  readonly grant: Grant
  readonly subject: GrantSubject
}

/** What a refresh token holds, which only the gateway can read. */
interface RefreshContent {
  /** Each refresh counts it up. */
  readonly generation: number
  /** What asking the identity provider needs, such as its refresh token. */
  readonly provider?: string
}

/** In the shared state: the newest refresh token of a grant. */
interface LastRefresh extends RefreshContent {
  readonly atMs: number
}

export function createSignIns(services: SignInServices): SignIns {
  const { grants, writer, tokens, secret, sharedState, askProvider, signal } = services
  const refreshTokens = createSealer(secret, 'refresh tokens of sign-ins')
  const lastRefreshes = createSealer(secret, 'last refreshes of sign-ins')
  const store = sharedState.store('sign-in-refreshes')
  const locks = sharedState.counters('sign-in-refreshes')
  const refreshing = new Map<string, Promise<Refreshed>>()

  function findActive(id: string): ActiveGrant | undefined {
    const grant = grants.find(id)
    const subject = grant && tokens.resolve(grant.holder, grant.expiresAtMs)
    return grant && subject && { grant, subject }
  }

  /** A changed key ends the refresh tokens of its holder, as it ends the access tokens. */
  const contextOf = ({ grant, subject }: ActiveGrant) => `${grant.id}\n${subject.binding}`

  /** Without a way to ask the provider again, the access token is the only one. */
  function answer(active: ActiveGrant, { generation, provider }: RefreshContent): TokenAnswer {
    const { grant, subject } = active
    const { name } = subject.actor
    const remaining = Math.floor((grant.expiresAtMs - Date.now()) / 1000)
    const common = {
      access_token: tokens.issue(grant, subject),
      token_type: 'Bearer' as const,
      expires_in: Math.min(accessTokenSeconds(grant), remaining),
      ...(name.includes('@') && { email: name }),
    }
    if (grant.holder.issuer !== undefined && provider === undefined) return common
    const content = { generation, ...(provider !== undefined && { provider }) }
    const sealed = refreshTokens.seal(content, contextOf(active))
    return { ...common, refresh_token: `${grant.id}.${sealed}` }
  }

  function open(refreshToken: string): (ActiveGrant & RefreshContent) | undefined {
    const [id = '', sealed = ''] = refreshToken.split('.')
    const active = findActive(id)
    // The cast is safe: nobody else can seal.
    const content = active && (refreshTokens.open(sealed, contextOf(active)) as RefreshContent | undefined)
    return active && content && { ...active, ...content }
  }

  async function readLast({ id }: Grant): Promise<LastRefresh | undefined> {
    const sealed = await store.get(id)
    // The cast is safe: nobody else can seal.
    return sealed === undefined
      ? undefined
      : (lastRefreshes.open(JSON.parse(sealed), id) as LastRefresh | undefined)
  }

  function writeLast({ id, expiresAtMs }: Grant, last: LastRefresh) {
    const sealed = JSON.stringify(lastRefreshes.seal({ ...last }, id))
    return store.set(id, sealed, Math.max(1, (expiresAtMs - Date.now()) / 1000))
  }

  async function end(grant: Grant, cause: 'signed_out' | 'reused' | 'refused_by_provider', author: Author) {
    const { id: grantId } = grant
    const revision = () => grants.find(grantId)?.revision ?? -1
    const decide = () =>
      grants.find(grantId) ? [{ type: 'SignInRevoked' as const, data: { grantId, cause } }] : []
    await writer.write({ stream: grantStream(grantId), revision, decide, isRecord: true }, author)
  }

  /** Answers with what the newest refresh gave; undefined if this token is the newest. */
  async function answerReplaced(
    active: ActiveGrant & RefreshContent,
    requestId: string,
  ): Promise<Refreshed | undefined> {
    const last = await readLast(active.grant)
    if (last === undefined || last.generation <= active.generation) return undefined
    const isNeighbour = last.generation === active.generation + 1 && Date.now() - last.atMs < GRACE_MS
    if (isNeighbour) return answer(active, last)
    // Somebody else has the token, or had it.
    await end(active.grant, 'reused', { actor: active.subject.actor, requestId })
    return { error: 'invalid_grant' }
  }

  async function refreshOnce(active: ActiveGrant & RefreshContent, requestId: string): Promise<Refreshed> {
    const { grant, subject, generation } = active
    const replaced = await answerReplaced(active, requestId)
    if (replaced !== undefined) return replaced
    const last = await readLast(grant)
    const provider = last?.generation === generation ? last.provider : active.provider
    const asked: Asked | undefined =
      provider === undefined
        ? undefined
        : ((await askProvider?.(provider, grant.holder, requestId)) ?? { error: 'invalid_grant' })
    const next = asked?.provider === undefined ? {} : { provider: asked.provider }
    if (asked?.error !== undefined) {
      // The provider may accept the former one no more.
      if (next.provider !== undefined) await writeLast(grant, { generation, ...next, atMs: Date.now() })
      if (asked.error === 'invalid_grant')
        await end(grant, 'refused_by_provider', { actor: subject.actor, requestId })
      return { error: asked.error }
    }
    const content = { generation: generation + 1, ...next }
    await writeLast(grant, { ...content, atMs: Date.now() })
    const current = findActive(grant.id)
    return current ? answer(current, content) : { error: 'invalid_grant' }
  }

  /** One process at a time: a refresh token of the provider that is used twice counts as stolen. */
  async function refreshAlone(active: ActiveGrant & RefreshContent, requestId: string): Promise<Refreshed> {
    const key = `${active.grant.id} ${active.generation}`
    const lock = await locks.add(key, 1, LOCK_SECONDS)
    try {
      return await (lock.total > 1 ? awaitOther(active, requestId) : refreshOnce(active, requestId))
    } finally {
      await locks.giveBack(key, 1, lock.window)
    }
  }

  async function awaitOther(active: ActiveGrant & RefreshContent, requestId: string): Promise<Refreshed> {
    const until = performance.now() + LOCK_SECONDS * 1000
    while (performance.now() < until) {
      await setTimeout(POLL_MS, undefined, { signal })
      if (grants.find(active.grant.id) === undefined) return { error: 'invalid_grant' }
      const replaced = await answerReplaced(active, requestId)
      if (replaced !== undefined) return replaced
    }
    return { error: 'temporarily_unavailable' }
  }

  return {
    async approve(client, holder, requestId) {
      const expiresAtMs = Date.now() + LIFETIME_HOURS[client] * 3_600_000
      const subject = tokens.resolve(holder, expiresAtMs)
      if (subject === undefined) throw new Error('nobody can act as the holder of a new grant')
      const { actor, account } = subject
      const grantId = newGrantId()
      const expiresAt = new Date(expiresAtMs).toISOString()
      const data = { grantId, client, holder, ...(account && { userId: account.userId }), expiresAt }
      const decide = () => [{ type: 'SignInApproved' as const, data }]
      await writer.write({ stream: grantStream(grantId), decide, isRecord: true }, { actor, requestId })
      return grantId
    },
    async complete(grantId, provider, requestId) {
      const active = findActive(grantId)
      if (active === undefined) return { error: 'authorization_pending' }
      const written = await writer.write(
        {
          stream: grantStream(grantId),
          revision: () => grants.find(grantId)?.revision ?? -1,
          decide: () =>
            grants.find(grantId)?.isCompleted === false
              ? [{ type: 'SignInCompleted' as const, data: { grantId } }]
              : [],
          isRecord: true,
        },
        { actor: active.subject.actor, requestId },
      )
      if (written === undefined) return { error: 'expired_token' }
      return answer(active, { generation: 0, ...(provider !== undefined && { provider }) })
    },
    async refresh(refreshToken, requestId) {
      const active = open(refreshToken)
      if (active === undefined) return { error: 'invalid_grant' }
      const key = `${active.grant.id} ${active.generation}`
      const running = refreshing.get(key)
      if (running !== undefined) return running
      const refreshed = refreshAlone(active, requestId).finally(() => refreshing.delete(key))
      refreshing.set(key, refreshed)
      return refreshed
    },
    async revoke(token, requestId) {
      const active = open(token) ?? tokens.read(token)
      if (active === undefined) return
      await end(active.grant, 'signed_out', { actor: active.subject.actor, requestId })
    },
    read: tokens.read,
  }
}
