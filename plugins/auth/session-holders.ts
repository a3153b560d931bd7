import type { Account } from '../../core/contract/index.ts'
import { isEqualText } from '../../core/util/equal-text.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { OperatorAccount } from '../../projections/events/operators.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import { hashApiKey } from './api-key.ts'

/** The key that somebody signed in with: that of root, of an operator, or of a user. */
export type SessionHolder =
  | { readonly type: 'root' }
  | { readonly type: 'operator'; readonly operator: OperatorAccount }
  | { readonly type: 'user'; readonly account: Account }

/** A holder, with what signatures for it depend on: the key and the role. */
export interface ResolvedHolder {
  readonly holder: SessionHolder
  readonly binding: string
}

/** Finds a holder by its type and `idOfHolder`; undefined if it is gone, or its key is not valid. */
export type ResolveHolder = (type: string, id: string) => ResolvedHolder | undefined

/** Finds who has signed in, or does so with a key. */
export interface Holders {
  readonly resolve: ResolveHolder
  /** Returns the holder of a valid key. */
  ofKey(key: string): SessionHolder | undefined
}

interface HolderServices {
  readonly adminKey: string | null | undefined
  readonly accounts: Pick<Accounts, 'ownerOfKey' | 'byKeyHash'>
  readonly operators: Pick<OperatorAccounts, 'find' | 'byKeyHash'>
}

export function createHolders({ adminKey, accounts, operators }: HolderServices): Holders {
  const adminHash = adminKey ? hashApiKey(adminKey) : undefined
  const resolvers: Readonly<Record<string, ResolveHolder>> = {
    root: () => (adminHash ? { holder: { type: 'root' }, binding: adminHash } : undefined),
    operator(_, id) {
      const operator = operators.find(id)
      if (operator === undefined || hasEnded(operator)) return undefined
      return { holder: { type: 'operator', operator }, binding: bindingOf(operator) }
    },
    user(_, id) {
      const key = accounts.ownerOfKey(id)?.keys.find((candidate) => candidate.id === id)
      const account = key && accounts.byKeyHash(key.hash)
      if (key === undefined || account === undefined || hasExpired(account)) return undefined
      return { holder: { type: 'user', account }, binding: key.hash }
    },
  }
  const resolve: ResolveHolder = (type, id) =>
    Object.hasOwn(resolvers, type) ? resolvers[type]?.(type, id) : undefined

  function find(hash: string): SessionHolder | undefined {
    if (adminHash !== undefined && isEqualText(hash, adminHash)) return { type: 'root' }
    const operator = operators.byKeyHash(hash)
    // A key that was replaced serves for a while, but must not begin what lasts longer.
    if (operator !== undefined) return operator.hash === hash ? { type: 'operator', operator } : undefined
    const account = accounts.byKeyHash(hash)
    return account && { type: 'user', account }
  }

  return {
    resolve,
    ofKey(key) {
      const holder = find(hashApiKey(key))
      return holder && resolve(holder.type, idOfHolder(holder))?.holder
    },
  }
}

function hasEnded({ expiresAt }: OperatorAccount): boolean {
  return expiresAt !== null && Date.now() >= Date.parse(expiresAt)
}

function hasExpired({ keyExpiresAtMs }: Account): boolean {
  return keyExpiresAtMs !== undefined && Date.now() >= keyExpiresAtMs
}

/** Another key, subject or role is another holder. */
function bindingOf({ hash, external, role }: OperatorAccount): string {
  return external ? JSON.stringify([external.issuer, external.subject, role]) : `${hash} ${role}`
}

export function idOfHolder(holder: SessionHolder): string {
  if (holder.type === 'operator') return holder.operator.id
  return holder.type === 'user' ? holder.account.keyId : 'root'
}
