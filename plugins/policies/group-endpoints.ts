import { data, type Endpoint, type EndpointResponse, endpoint, operator } from '../../core/contract/index.ts'
import {
  etagHeader,
  parsePrecondition,
  preconditionHeaders,
  revisionEtag,
} from '../../core/http/conditional.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { findNamed, idFilter, nameFilter } from '../../core/http/name-filter.ts'
import { PAGE, toPage } from '../../core/http/page.ts'
import { pageQuery, Success } from '../../core/http/schemas.ts'
import type { Group } from '../../projections/events/groups.ts'
import { userId } from '../auth/schemas.ts'
import { showGroup } from '../rules/show-policy.ts'
import { createGroupCommands, type GroupServices, groupNotFoundError } from './group-commands.ts'
import { GroupChange, GroupInput, GroupMemberPage, GroupPage, GroupSchema, groupId } from './schemas.ts'

/** Errors of endpoints that append to the event log. */
const WRITE_ERRORS = ['conflict', 'change_too_large', 'event_log_full'] as const

const read = { access: operator('auditor'), tags: ['groups'] }
const write = { access: operator('editor'), tags: ['groups'] }

/** Creates the endpoints for groups and their members. */
export function createGroupEndpoints(services: GroupServices): readonly Endpoint[] {
  const { accounts, groups } = services
  const commands = createGroupCommands(services)
  const one = { params: { id: groupId }, notFound: groupNotFoundError }
  const memberOf = { params: { id: groupId, user_id: userId }, path: '/admin/groups/{id}/members/{user_id}' }
  const shown = { headers: etagHeader('group'), body: data(GroupSchema) }

  return [
    endpoint({
      ...read,
      method: 'GET',
      path: '/admin/groups',
      operationId: 'listGroups',
      summary: 'Lists all groups, in pages sorted by id.',
      query: { ...pageQuery(PAGE, 'YWZ0ZXI6Nw'), q: nameFilter, id: idFilter },
      responses: { 200: { description: 'A page of groups.', body: GroupPage } },
      handle: ({ query }) => toPage(findNamed(groups.groups(), query), query, ({ id }) => id, showGroup),
    }),
    repeatable(
      endpoint({
        ...write,
        method: 'POST',
        path: '/admin/groups',
        operationId: 'createGroup',
        summary: 'Creates a group of users.',
        body: GroupInput,
        examples: { support: { name: 'Support', description: 'Everyone who answers customers' } },
        responses: { 201: { description: 'The new group.', ...shown } },
        errors: WRITE_ERRORS,
        async handle({ body: { name, description = null }, author }) {
          return toGroupResponse(201, await commands.createGroup({ name, description }, author))
        },
      }),
      async (_, change) => toGroupResponse(201, await commands.createdGroup(change)),
    ),
    endpoint({
      ...read,
      ...one,
      method: 'GET',
      path: '/admin/groups/{id}',
      operationId: 'readGroup',
      summary: 'Returns a group.',
      responses: { 200: { description: 'The group.', ...shown } },
      handle: ({ params }) => toGroupResponse(200, commands.requireGroup(params.id)),
    }),
    endpoint({
      ...write,
      ...one,
      method: 'PATCH',
      path: '/admin/groups/{id}',
      operationId: 'updateGroup',
      summary: 'Updates the given fields of a group.',
      headers: preconditionHeaders('group'),
      body: GroupChange,
      examples: { rename: { name: 'Customer support' } },
      responses: { 200: { description: 'The group after the change.', ...shown } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle({ params: { id }, headers, body, author }) {
        const expected = parsePrecondition(headers)
        return toGroupResponse(200, await commands.changeGroup(id, body, expected, author))
      },
    }),
    endpoint({
      ...write,
      ...one,
      method: 'DELETE',
      path: '/admin/groups/{id}',
      operationId: 'deleteGroup',
      summary: 'Deletes a group. Its users stay.',
      headers: preconditionHeaders('group'),
      responses: { 200: { description: 'The group is deleted.', body: Success } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle({ params: { id }, headers, author }) {
        await commands.deleteGroup(id, parsePrecondition(headers), author)
        return { status: 200, body: { success: true } }
      },
    }),
    endpoint({
      ...read,
      ...one,
      method: 'GET',
      path: '/admin/groups/{id}/members',
      operationId: 'listGroupMembers',
      summary: 'Lists the users in a group, in pages sorted by id.',
      query: pageQuery(PAGE, 'YWZ0ZXI6Nw'),
      responses: { 200: { description: 'A page of users.', body: GroupMemberPage } },
      handle({ params, query }) {
        const { id: groupId } = commands.requireGroup(params.id)
        const members = groups.members(groupId).map((id) => ({ id }))
        const show = ({ id }: { readonly id: number }) => ({ id, name: accounts.user(id)?.name ?? '' })
        return toPage(members, query, ({ id }) => id, show)
      },
    }),
    endpoint({
      ...write,
      ...memberOf,
      method: 'PUT',
      operationId: 'addGroupMember',
      summary: 'Adds a user to a group.',
      description: 'Does nothing if the user is in the group already.',
      responses: { 200: { description: 'The user is in the group.', body: Success } },
      errors: WRITE_ERRORS,
      async handle({ params, author }) {
        await commands.setMember(params.id, params.user_id, true, author)
        return { status: 200, body: { success: true } }
      },
    }),
    endpoint({
      ...write,
      ...memberOf,
      method: 'DELETE',
      operationId: 'removeGroupMember',
      summary: 'Removes a user from a group.',
      description: 'Does nothing if the user is not in the group.',
      responses: { 200: { description: 'The user is not in the group.', body: Success } },
      errors: WRITE_ERRORS,
      async handle({ params, author }) {
        await commands.setMember(params.id, params.user_id, false, author)
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}

function toGroupResponse(status: number, group: Group): EndpointResponse {
  return { status, headers: { etag: revisionEtag(group.revision) }, body: { data: showGroup(group) } }
}
