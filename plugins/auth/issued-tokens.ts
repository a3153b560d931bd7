import { createHmac, randomBytes } from 'node:crypto'
import { type Account, type Actor, type JsonObject, keyActor } from '../../core/contract/index.ts'
import type { SecretFile } from '../../core/secrets/secret-file.ts'
import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import { isEqualText } from '../../core/util/equal-text.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Grant, GrantHolder } from '../../projections/events/grants.ts'
import { identityId } from '../../projections/events/identities.ts'
import type { OperatorAccount } from '../../projections/events/operators.ts'
import type { User } from '../../projections/events/users.ts'
import type { Grants } from '../../projections/grants.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Identities } from '../../projections/identities.ts'
import { toIdentityAccount } from './identity-account.ts'
import type { ResolveHolder } from './session-holders.ts'
import { actorOfHolder } from './sessions.ts'

/** An operator whom the identity provider has removed is out after 15 minutes, as on the console. */
export function accessTokenSeconds({ client, holder }: Pick<Grant, 'client' | 'holder'>): number {
  return client === 'cli' && holder.issuer !== undefined ? 900 : 3600
}

/** Who a signed-in program acts as. */
export interface GrantSubject {
  readonly actor: Actor
  /** Whose requests are counted; undefined for operators. */
  readonly account?: Account
  /** Undefined for root. */
  readonly operator?: OperatorAccount
  /** What signatures depend on. */
  readonly binding: string
}

/** A valid access token. */
export interface IssuedToken {
  readonly grant: Grant
  readonly subject: GrantSubject
  readonly expiresAtMs: number
}

/** Access tokens that programs get. See docs/decisions/operators.md, "Tokens of programs". */
export interface IssuedTokens {
  issue(grant: Grant, subject: GrantSubject): string
  /** Who a grant is of; undefined if nobody may act by it any more. */
  resolve(holder: GrantHolder, expiresAtMs: number): GrantSubject | undefined
  /** Whether a text has the form of an access token, valid or not. */
  isToken(text: string): boolean
  /** Returns what a token proves; undefined for one that was not issued here, was revoked or has expired. */
  read(token: string): IssuedToken | undefined
  /** As `read`, for users, by the SHA-256 of a token that was read before. */
  find(hash: string): Account | undefined
  /** As `read`, for users. */
  admit(token: string, hash: string): Account | undefined
}

interface IssuedTokenServices {
  readonly secret: SecretFile
  readonly resolveHolder: ResolveHolder
  readonly grants: Pick<Grants, 'find'>
  readonly accounts: Pick<Accounts, 'user'>
  readonly groups: Pick<Groups, 'group' | 'groupsOf'>
  readonly identities: Pick<Identities, 'linkedTo'>
}

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

const ISSUER = 'signalbox'

/** Every access token begins with it. Another spelling of the header is not accepted. */
const HEADER = base64({ alg: 'HS256', typ: 'JWT', kid: 'signalbox' })

/** Ten megabytes. */
const MAX_KNOWN_TOKENS = 20_000

interface KnownToken {
  readonly grant: Grant
  readonly expiresAtMs: number
  subject: GrantSubject
  /** The `identityId` of a subject of an identity provider. Its digest takes longer than all other checks. */
  readonly identity: string
  /** The user that `subject` was made of, if it is that of an identity provider. */
  user: User | undefined
}

export function createIssuedTokens(services: IssuedTokenServices): IssuedTokens {
  const { secret, resolveHolder, grants, accounts, groups, identities } = services
  const known = createBoundedCache<string, KnownToken>(MAX_KNOWN_TOKENS)

  function sign(text: string, binding: string): string | undefined {
    const bytes = secret.read()
    if (bytes === undefined) return undefined
    const key = createHmac('sha256', bytes).update(`access token\n${binding}`).digest()
    return createHmac('sha256', key).update(text).digest('base64url')
  }

  /** The user of a subject of an identity provider. `identity`: its `identityId`. */
  function userOf({ id }: GrantHolder, identity: string): User | undefined {
    const userId = Number(id)
    return identities.linkedTo(identity) === userId ? accounts.user(userId) : undefined
  }

  function resolve(holder: GrantHolder, expiresAtMs: number): GrantSubject | undefined {
    const { type, id, issuer = '', subject = '' } = holder
    if (type === 'identity') {
      const user = userOf(holder, identityOf(holder))
      if (user === undefined) return undefined
      const account = toIdentityAccount(user, { issuer, subject, expiresAtMs })
      return { account, actor: keyActor(account), binding: `identity\n${issuer}\n${subject}` }
    }
    const resolved = resolveHolder(type, id)
    if (resolved === undefined) return undefined
    const actor = actorOfHolder(resolved.holder)
    const common = { actor, binding: `${type}\n${id}\n${resolved.binding}` }
    if (resolved.holder.type === 'user') return { ...common, account: resolved.holder.account }
    if (resolved.holder.type === 'operator') return { ...common, operator: resolved.holder.operator }
    return common
  }

  /** What Claude Code's telemetry names: `sub`, `email` and `groups`. Nothing of it decides anything. */
  function describe({ actor, account, operator }: GrantSubject): JsonObject {
    const { name } = actor
    const ids = account === undefined ? [] : groups.groupsOf(account.userId)
    return {
      sub: account?.identity?.subject ?? (account ? `user-${account.userId}` : actor.id),
      name,
      ...(name.includes('@') && { email: name }),
      ...(account && { groups: ids.flatMap((id) => groups.group(id)?.name ?? []) }),
      ...(!account && { role: operator?.role ?? 'admin' }),
    }
  }

  function read(token: string): IssuedToken | undefined {
    const [header, payload = '', signature = '', ...more] = token.split('.')
    if (header !== HEADER || more.length > 0) return undefined
    const { grant: id, exp } = parsePayload(payload)
    const grant = typeof id === 'string' ? grants.find(id) : undefined
    if (grant === undefined || typeof exp !== 'number') return undefined
    const expiresAtMs = exp * 1000
    const subject = resolve(grant.holder, expiresAtMs)
    const expected = subject && sign(`${header}.${payload}`, subject.binding)
    if (!subject || !expected || !isEqualText(signature, expected) || Date.now() >= expiresAtMs)
      return undefined
    return { grant, subject, expiresAtMs }
  }

  /** The account as it is now: limits, plans and restrictions of keys may have changed. */
  function currentAccount(entry: KnownToken): Account | undefined {
    const { grant, expiresAtMs } = entry
    if (Date.now() >= expiresAtMs || grants.find(grant.id) === undefined) return undefined
    if (grant.holder.type === 'identity') {
      const user = userOf(grant.holder, entry.identity)
      if (user !== undefined && user === entry.user) return entry.subject.account
      entry.user = user
    }
    const subject = resolve(grant.holder, expiresAtMs)
    if (subject === undefined || subject.binding !== entry.subject.binding) return undefined
    entry.subject = subject
    return subject.account
  }

  return {
    issue(grant, subject) {
      secret.readOrCreate()
      const iat = Math.floor(Date.now() / 1000)
      const exp = Math.min(iat + accessTokenSeconds(grant), Math.floor(grant.expiresAtMs / 1000))
      // Tokens of the same second differ.
      const jti = randomBytes(9).toString('base64url')
      const claims = { iss: ISSUER, aud: ISSUER, ...describe(subject), iat, exp, jti, grant: grant.id }
      const text = `${HEADER}.${base64(claims)}`
      return `${text}.${sign(text, subject.binding)}`
    },
    resolve,
    isToken: (text) => text.startsWith(`${HEADER}.`),
    read,
    find(hash) {
      const entry = known.get(hash)
      if (entry === undefined) return undefined
      const account = currentAccount(entry)
      if (account === undefined) known.delete(hash)
      return account
    },
    admit(token, hash) {
      const issued = read(token)
      const account = issued?.subject.account
      if (issued === undefined || account === undefined) return undefined
      const identity = identityOf(issued.grant.holder)
      known.set(hash, { ...issued, identity, user: userOf(issued.grant.holder, identity) })
      return account
    },
  }
}

function identityOf({ issuer = '', subject = '' }: GrantHolder): string {
  return identityId('subject', issuer, subject)
}

/** Nothing of it was verified. */
function parsePayload(payload: string): JsonObject {
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) ?? {}
  } catch {
    return {}
  }
}
