import type { SavedProjection } from './runtime/projection.ts'

/** A subject of an identity provider. */
export interface Identity {
  readonly issuer: string
  readonly subject: string
}

/** Who the users are at identity providers, in memory. */
export interface Identities extends SavedProjection {
  /** The id of the user or group that an `identityId` is linked to. */
  linkedTo(identity: string): number | undefined
  /** Revision of the stream of an `identityId`; -1 before its first event. */
  revision(identity: string): number
  /** The subject that a user is. Undefined for users of keys alone. */
  identityOf(userId: number): Identity | undefined
  /** All that a user ever was, also one who was deleted, as `identityId`. */
  identitiesOf(userId: number): readonly string[]
  /** The ids of the groups that a user is in because a token says so. */
  claimedGroups(userId: number): readonly number[]
  /** When the newest token was issued that changed groups of a user, in seconds since 1970; 0 before. */
  claimedAt(userId: number): number
}

interface Link {
  readonly revision: number
  /** Undefined once the link was removed. */
  readonly id: number | undefined
}

const NO_GROUPS: readonly number[] = []
const NO_IDENTITIES: readonly string[] = []

export function createIdentities(): Identities {
  const links = new Map<string, Link>()
  const users = new Map<number, Identity & { readonly identity: string }>()
  const everLinked = new Map<number, readonly string[]>()
  const claimed = new Map<number, readonly number[]>()
  const claimedAt = new Map<number, number>()

  function unlink(userId: number): void {
    const { identity } = users.get(userId) ?? {}
    const link = identity === undefined ? undefined : links.get(identity)
    if (identity !== undefined && link?.id === userId) links.set(identity, { ...link, id: undefined })
    users.delete(userId)
  }

  function setClaimed(userId: number, groups: readonly number[]): void {
    if (groups.length === 0) claimed.delete(userId)
    else claimed.set(userId, groups)
  }

  return {
    name: 'identities',
    apply(event, { revision, metadata }) {
      switch (event.type) {
        case 'IdentityLinked': {
          const { identity, issuer, subject, userId } = event.data
          unlink(userId)
          // Of a user who was deleted, or whose link was written without the user.
          const former = links.get(identity)?.id
          if (former !== undefined) users.delete(former)
          links.set(identity, { revision, id: userId })
          users.set(userId, { identity, issuer, subject })
          everLinked.set(userId, [...new Set([...(everLinked.get(userId) ?? NO_IDENTITIES), identity])])
          return
        }
        case 'IdentityUnlinked':
          unlink(event.data.userId)
          links.set(event.data.identity, { revision, id: undefined })
          return
        case 'GroupClaimLinked':
          links.set(event.data.identity, { revision, id: event.data.groupId })
          return
        case 'UserAddedToGroup':
        case 'UserRemovedFromGroup': {
          const { userId, groupId, issuedAt = 0 } = event.data
          if (issuedAt > (claimedAt.get(userId) ?? 0)) claimedAt.set(userId, issuedAt)
          const others = (claimed.get(userId) ?? NO_GROUPS).filter((id) => id !== groupId)
          const isClaimed = event.type === 'UserAddedToGroup' && metadata.actor.type === 'identity'
          setClaimed(userId, isClaimed ? [...others, groupId] : others)
          return
        }
        case 'GroupDeleted':
          for (const [identity, link] of links)
            if (link.id === event.data.groupId) links.set(identity, { ...link, id: undefined })
          return
        case 'UserDeleted':
          unlink(event.data.userId)
          claimed.delete(event.data.userId)
          claimedAt.delete(event.data.userId)
      }
    },
    linkedTo: (identity) => links.get(identity)?.id,
    revision: (identity) => links.get(identity)?.revision ?? -1,
    identityOf: (userId) => users.get(userId),
    identitiesOf: (userId) => everLinked.get(userId) ?? NO_IDENTITIES,
    claimedGroups: (userId) => claimed.get(userId) ?? NO_GROUPS,
    claimedAt: (userId) => claimedAt.get(userId) ?? 0,
    save: () => serialize([...links], [...users], [...everLinked], [...claimed], [...claimedAt]),
    load(lines) {
      for (const line of lines) {
        const [part, key, value]: SavedLine = JSON.parse(line.toString())
        if (part === 'link') links.set(key, value)
        else if (part === 'user') users.set(key, value)
        else if (part === 'everLinked') everLinked.set(key, value)
        else if (part === 'claimed') claimed.set(key, value)
        else claimedAt.set(key, value)
      }
    },
  }
}

type SavedLine =
  | readonly ['link', string, Link]
  | readonly ['user', number, Identity & { readonly identity: string }]
  | readonly ['everLinked', number, readonly string[]]
  | readonly ['claimed', number, readonly number[]]
  | readonly ['claimedAt', number, number]

function* serialize(
  links: readonly (readonly [string, Link])[],
  users: readonly (readonly [number, Identity & { readonly identity: string }])[],
  everLinked: readonly (readonly [number, readonly string[]])[],
  claimed: readonly (readonly [number, readonly number[]])[],
  claimedAt: readonly (readonly [number, number])[],
): Generator<string> {
  const toLine = (line: SavedLine) => JSON.stringify(line)
  for (const [identity, link] of links) yield toLine(['link', identity, link])
  for (const [userId, identity] of users) yield toLine(['user', userId, identity])
  for (const [userId, identities] of everLinked) yield toLine(['everLinked', userId, identities])
  for (const [userId, groups] of claimed) yield toLine(['claimed', userId, groups])
  for (const [userId, seconds] of claimedAt) yield toLine(['claimedAt', userId, seconds])
}
