import { type Author, GatewayError } from '../../core/contract/index.ts'
import { userStream } from '../../core/events/domain-events.ts'
import type { Precondition } from '../../core/http/conditional.ts'
import type { AppliedChange } from '../../core/http/idempotency.ts'
import type { Accounts } from '../../projections/accounts.ts'
import {
  foldGroup,
  type Group,
  type GroupContent,
  type GroupEvent,
  groupStream,
} from '../../projections/events/groups.ts'
import type { Groups } from '../../projections/groups.ts'
import type { History } from '../../projections/history.ts'
import type { IdSource } from '../../projections/ids.ts'
import type { Policies } from '../../projections/policies.ts'
import { answerInTime, type EventWriter } from '../../projections/runtime/write.ts'
import { requireUser } from '../auth/require-user.ts'
import { createEntityStream } from './entity-stream.ts'

export interface GroupServices {
  readonly accounts: Pick<Accounts, 'user'>
  readonly groups: Groups
  readonly policies: Pick<Policies, 'policyOfGroup'>
  readonly ids: IdSource
  readonly writer: EventWriter
  readonly history: Pick<History, 'eventsOfChange'>
}

/** Changes to groups. Each resolves when all processes of this node apply it, and returns its own result. */
export interface GroupCommands {
  /** Throws 404. */
  requireGroup(id: number): Group
  createGroup(content: GroupContent, author: Author): Promise<Group>
  /** Returns the group that a request with an `Idempotency-Key` created before, as it was then. */
  createdGroup(change: AppliedChange): Promise<Group>
  /** Throws 404, and 412 unless the group has one of the expected revisions. */
  changeGroup(
    id: number,
    changes: Partial<GroupContent>,
    expected: Precondition,
    author: Author,
  ): Promise<Group>
  /** Throws 409 if a policy applies to the group: it would no longer apply to its users. */
  deleteGroup(id: number, expected: Precondition, author: Author): Promise<void>
  /** Adds a user to a group, or removes them. Does nothing if that is so already. Throws 404. */
  setMember(groupId: number, userId: number, isMember: boolean, author: Author): Promise<void>
}

export function createGroupCommands(services: GroupServices): GroupCommands {
  const { accounts, groups, ids, writer } = services

  const stream = createEntityStream<Group, GroupEvent>(
    {
      name: 'group',
      find: (id) => groups.group(id),
      stream: groupStream,
      streamRevision: (id) => groups.revision(id),
      evolve: foldGroup,
      notFound: groupNotFoundError,
    },
    services,
  )

  function requireUnused(id: number): void {
    const policy = services.policies.policyOfGroup(id)
    if (policy === undefined) return
    const message =
      `Policy ${policy.id} ("${policy.name}") applies to group ${id}. ` +
      'Change or delete the policy before you delete the group.'
    throw new GatewayError('conflict', message)
  }

  return {
    requireGroup: stream.require,
    async createGroup(content, author) {
      const groupId = await ids.reserve(1, author)
      const decide = () => ({ type: 'GroupCreated', data: { groupId, ...content } }) as const
      return (await stream.write(groupId, decide, author)) ?? stream.require(groupId)
    },
    createdGroup: (change) => stream.created(change, 'GroupCreated'),
    async changeGroup(id, changes, expected, author) {
      const decide = () => {
        const group = stream.requireRevision(id, expected)
        const { name = group.name, description = group.description } = changes
        if (name === group.name && description === group.description) return undefined
        return { type: 'GroupUpdated', data: { groupId: id, changes } } as const
      }
      return (await stream.write(id, decide, author)) ?? stream.require(id)
    },
    async deleteGroup(id, expected, author) {
      const decide = () => {
        stream.requireRevision(id, expected)
        requireUnused(id)
        return { type: 'GroupDeleted', data: { groupId: id } } as const
      }
      await stream.write(id, decide, author)
      // Another process may have created a policy for the group meanwhile: then it was not deleted.
      if (groups.group(id) !== undefined) requireUnused(id)
    },
    async setMember(groupId, userId, isMember, author) {
      const member = () => requireUser(accounts, userId)
      writer.checkAvailable()
      const type = isMember ? 'UserAddedToGroup' : 'UserRemovedFromGroup'
      const command = {
        stream: userStream(member().id),
        revision: () => member().revision,
        decide() {
          stream.require(groupId)
          if (groups.groupsOf(userId).includes(groupId) === isMember) return []
          return [{ type, data: { userId, groupId } } as const]
        },
      }
      await answerInTime(writer.write(command, author))
      // Another process may have deleted the group meanwhile: then the user was not added.
      if (isMember) stream.require(groupId)
    },
  }
}

/** The 404 for a group. `id` may also be a text in a path that is no id. */
export function groupNotFoundError(id: number | string): GatewayError {
  return new GatewayError('not_found', `Group ${id} was not found.`)
}
