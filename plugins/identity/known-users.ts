import { type Author, identityActor, type Plan } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { groupStream } from '../../projections/events/groups.ts'
import { identityId, identityStream } from '../../projections/events/identities.ts'
import type { DomainEvent } from '../../projections/events/registry.ts'
import { userStream } from '../../projections/events/users.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Identities } from '../../projections/identities.ts'
import type { IdSource } from '../../projections/ids.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { cutName } from './claims.ts'
import { identityError } from './errors.ts'

export interface KnownUserServices {
  readonly accounts: Pick<Accounts, 'user'>
  readonly groups: Pick<Groups, 'group' | 'groups' | 'groupsOf' | 'revision'>
  readonly identities: Identities
  readonly ids: Pick<IdSource, 'reserve'>
  readonly writer: Pick<EventWriter, 'write'>
}

/** What a token says of its subject. */
export interface Claimed {
  readonly issuer: string
  readonly subject: string
  readonly name: string
  readonly plan: Plan
  /** Names of groups; undefined if the tokens of the issuer have none. */
  readonly groups: readonly string[] | undefined
  /** When the token was issued, in seconds since 1970, if it says so. */
  readonly issuedAt: number | undefined
  /** Whether the settings create unknown users, and groups. */
  readonly createsUsers: boolean
  readonly createsGroups: boolean
}

/**
 * Returns a function that makes the users and groups of the log agree with what a token says, and resolves
 * with the id of the user. Everything that differs is an event whose actor is the subject. Rejects with 403
 * for an unknown subject whose user is not created.
 */
export function createKnownUsers(services: KnownUserServices) {
  const { accounts, groups, identities, ids, writer } = services

  /**
   * Links an identity to a user or group with an id of its own, unless it is. Resolves with the id, under
   * which nothing may exist yet: another process may be about to create it.
   */
  async function link(
    identity: string,
    toEvent: (id: number) => DomainEvent,
    author: Author,
  ): Promise<number> {
    const known = identities.linkedTo(identity)
    if (known !== undefined) return known
    const created = await ids.reserve(1, author)
    const command = {
      stream: identityStream(identity),
      revision: () => identities.revision(identity),
      decide: () => (identities.linkedTo(identity) === undefined ? [toEvent(created)] : []),
    }
    await writer.write(command, author)
    return identities.linkedTo(identity) ?? created
  }

  async function requireGroup(issuer: string, name: string, author: Author): Promise<number> {
    const identity = identityId('group', issuer, name)
    const groupId = await link(
      identity,
      (groupId) => ({ type: 'GroupClaimLinked', data: { identity, issuer, group: name, groupId } }),
      author,
    )
    const isMissing = () => groups.group(groupId) === undefined && identities.linkedTo(identity) === groupId
    const data = { groupId, name: cutName(name), description: null }
    const command = {
      stream: groupStream(groupId),
      revision: () => groups.revision(groupId),
      decide: () => (isMissing() ? [{ type: 'GroupCreated' as const, data }] : []),
    }
    await writer.write(command, author)
    return groupId
  }

  /** Returns the group that tokens of the issuer have named before, also if it has another name by now. */
  function linkedGroup(issuer: string, name: string): number | undefined {
    const id = identities.linkedTo(identityId('group', issuer, name))
    return id === undefined ? undefined : groups.group(id)?.id
  }

  /** Resolves with the ids of groups, ascending. Groups that do not exist are created, or left out. */
  async function findGroups({ issuer, groups: named, createsGroups }: Claimed, author: Author) {
    const names = [...new Set(named)]
    const linked = names.map((name) => linkedGroup(issuer, name))
    // Of groups with the same name, the first counts.
    const others = linked.includes(undefined) ? groups.groups().toReversed() : []
    const byName = new Map(others.map(({ id, name }) => [name, id]))
    const found = await Promise.all(
      names.map((name, index) => {
        const id = linked[index] ?? byName.get(name)
        return id ?? (createsGroups ? requireGroup(issuer, name, author) : undefined)
      }),
    )
    return found.filter((id) => id !== undefined).sort((a, b) => a - b)
  }

  /** The user, if the user is new, and the groups that the token says. */
  async function writeUser(
    userId: number,
    { issuer, subject, name, plan, groups: named, issuedAt }: Claimed,
    target: readonly number[],
    author: Author,
  ) {
    const identity = identityId('subject', issuer, subject)
    const decide = () => {
      // The link, or the user, was removed meanwhile.
      if (identities.linkedTo(identity) !== userId) return []
      const created = accounts.user(userId)
        ? []
        : [{ type: 'UserCreated' as const, data: { userId, name, plan } }]
      const isOutdated = issuedAt !== undefined && issuedAt < identities.claimedAt(userId)
      if (named === undefined || isOutdated) return created
      const joined = groups.groupsOf(userId)
      const left = identities.claimedGroups(userId)
      const removed = left.filter((id) => joined.includes(id) && !target.includes(id))
      const added = target.filter((id) => !joined.includes(id) && groups.group(id) !== undefined)
      const toData = (groupId: number) => ({ userId, groupId, ...(issuedAt !== undefined && { issuedAt }) })
      return [
        ...created,
        ...removed.map((groupId) => ({ type: 'UserRemovedFromGroup' as const, data: toData(groupId) })),
        ...added.map((groupId) => ({ type: 'UserAddedToGroup' as const, data: toData(groupId) })),
      ]
    }
    // Known users are served also while the event log is unavailable.
    if (accounts.user(userId) !== undefined && decide().length === 0) return
    const revision = () => accounts.user(userId)?.revision ?? -1
    await writer.write({ stream: userStream(userId), revision, decide }, author)
  }

  return async (claimed: Claimed, requestId: string): Promise<number> => {
    const { issuer, subject, name, createsUsers } = claimed
    const author: Author = { actor: identityActor({ issuer, subject }, name), requestId }
    const identity = identityId('subject', issuer, subject)
    const known = identities.linkedTo(identity)
    if (!createsUsers && (known === undefined || accounts.user(known) === undefined)) {
      const message = `No user is linked to the subject ${subject} of ${issuer}. Ask an operator to link one.`
      throw identityError('user_unknown', message)
    }
    const target = await findGroups(claimed, author)
    const userId = await link(
      identity,
      (userId) => ({ type: 'IdentityLinked', data: { identity, issuer, subject, userId } }),
      author,
    )
    await writeUser(userId, claimed, target, author)
    return userId
  }
}
