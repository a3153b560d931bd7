import {
  type Endpoint,
  type EndpointCall,
  endpoint,
  GatewayError,
  type OperatorAccess,
  type OperatorScope,
  operator,
  Type,
} from '../../core/contract/index.ts'
import { cutPage, PAGE } from '../../core/http/pages.ts'
import { Count, NextCursor, pageQuery, Success } from '../../core/http/schemas.ts'
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { createNotFoundError } from '../../core/resources/resource.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { userStream } from '../../projections/events/users.ts'
import type { Groups } from '../../projections/groups.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { requireUser, userId, userNotFoundError } from '../auth/index.ts'
import { groups as declaration, groupId } from './groups.ts'

interface GroupMemberServices {
  readonly accounts: Pick<Accounts, 'user'>
  readonly groups: Pick<Groups, 'group' | 'groupsOf' | 'members'>
  readonly writer: EventWriter
}

const GroupMember = Type.Object(
  { id: Count('Id of the user.'), name: Type.String({ description: 'Name of the user.' }) },
  { $id: 'GroupMember', description: 'A user in a group.' },
)

const GroupMemberPage = Type.Object(
  { data: Type.Array(GroupMember, { description: 'The users, sorted by id.' }), next_cursor: NextCursor },
  { $id: 'GroupMemberPage', description: 'A page of the users in a group.' },
)

/** Creates the endpoints that list the members of a group, add and remove them. */
export function createGroupMemberEndpoints(services: GroupMemberServices): readonly Endpoint[] {
  const { accounts, groups, writer } = services
  const notFound = (id: number | string) => createNotFoundError(declaration, id)
  const common = { tags: ['groups'], notFound }

  function requireGroup(id: number, scope: OperatorScope | undefined): void {
    if (groups.group(id) === undefined || scope?.hasGroup(id) === false) throw notFound(id)
  }

  /** A user in none of the groups would be out of the scope, and of the reach of its policies and budgets. */
  function requireRemaining(groupId: number, userId: number, scope: OperatorScope): void {
    if (groups.groupsOf(userId).some((id) => id !== groupId && scope.hasGroup(id))) return
    const message = `User ${userId} must stay in a group of your scope. Add the user to another one first.`
    throw new GatewayError('scope_exceeded', message)
  }

  /** Does nothing if it is so already. */
  async function setMember(
    groupId: number,
    userId: number,
    isMember: boolean,
    { author, scope }: Pick<EndpointCall<OperatorAccess>, 'author' | 'scope'>,
  ): Promise<void> {
    const member = () => {
      if (scope?.hasUser(userId) === false) throw userNotFoundError(userId)
      return requireUser(accounts, userId)
    }
    writer.checkAvailable()
    const type = isMember ? 'UserAddedToGroup' : 'UserRemovedFromGroup'
    const command = {
      stream: userStream(member().id),
      revision: () => member().revision,
      decide() {
        requireGroup(groupId, scope)
        const { id } = member()
        if (groups.groupsOf(id).includes(groupId) === isMember) return []
        if (scope && !isMember) requireRemaining(groupId, id, scope)
        return [{ type, data: { userId, groupId } } as const]
      },
    }
    await answerInTime(writer.write(command, author))
    // Another process may have deleted the group meanwhile: then the user was not added.
    if (isMember) requireGroup(groupId, scope)
  }

  const changeMember = (method: 'PUT' | 'DELETE', operationId: string, summary: string, words: string) =>
    endpoint({
      ...common,
      method,
      path: '/admin/groups/{id}/members/{user_id}',
      access: operator('editor', 'filtered'),
      params: { id: groupId, user_id: userId },
      operationId,
      summary,
      description: `Does nothing if the user is ${words}.`,
      responses: { 200: { description: 'The change was made.', body: Success } },
      errors: WRITE_ERRORS,
      async handle({ params, ...call }) {
        await setMember(params.id, params.user_id, method === 'PUT', call)
        return { status: 200, body: { success: true } }
      },
    })

  return [
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/groups/{id}/members',
      access: operator('auditor', 'filtered'),
      params: { id: groupId },
      operationId: 'listGroupMembers',
      summary: 'Lists the users in a group, in pages sorted by id.',
      query: pageQuery(PAGE, 'YWZ0ZXI6Nw'),
      responses: { 200: { description: 'A page of users.', body: GroupMemberPage } },
      handle({ params, query, scope }) {
        requireGroup(params.id, scope)
        const members = groups.members(params.id)
        const { page, next_cursor } = cutPage(members, { limit: PAGE.default, ...query }, (id) => id)
        const data = page.map((id) => ({ id, name: accounts.user(id)?.name ?? '' }))
        return { status: 200, body: { data, next_cursor } }
      },
    }),
    changeMember('PUT', 'addGroupMember', 'Adds a user to a group.', 'in the group already'),
    changeMember('DELETE', 'removeGroupMember', 'Removes a user from a group.', 'not in the group'),
  ]
}
