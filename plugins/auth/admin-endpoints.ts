import { type Endpoint, endpoint, type JsonObject, operator, Type } from '../../core/contract/index.ts'
import { contentConditions, ifNoneMatchHeader } from '../../core/http/conditional.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { findNamed, idFilter, nameFilter } from '../../core/http/name-filter.ts'
import { PAGE, toPage } from '../../core/http/page.ts'
import { NextCursor, pageQuery, Success } from '../../core/http/schemas.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { User } from '../../projections/events/users.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Rules } from '../../projections/rules.ts'
import type { AccountCommands } from './account-commands.ts'
import { requireUser, userNotFoundError } from './require-user.ts'
import { UserChange, UserInput, UserResult, UserSchema, userId, WRITE_ERRORS } from './schemas.ts'
import { showKey, showUser } from './show-account.ts'
import { listSuspendedRules } from './suspended-rules.ts'

const common = { access: operator('admin'), tags: ['admin'] }

/** Creates the `/admin` endpoints for users. */
export function createAdminEndpoints(
  accounts: Accounts,
  groups: Pick<Groups, 'groupsOf'>,
  rules: Pick<Rules, 'of'>,
  commands: AccountCommands,
): readonly Endpoint[] {
  const toUserBody = (user: User): JsonObject => ({
    ...showUser(user, groups.groupsOf(user.id)),
    keys: user.keys.map(showKey),
  })
  const { etag, conditions, respond, parseCheck } = contentConditions('user', toUserBody)

  return [
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/users',
      access: operator('auditor'),
      operationId: 'listUsers',
      summary: 'Lists all users, in pages sorted by id.',
      query: { ...pageQuery(PAGE, 'YWZ0ZXI6Nw'), q: nameFilter, id: idFilter },
      responses: {
        200: {
          description: 'A page of users.',
          body: Type.Object(
            {
              data: Type.Array(UserSchema, { description: 'The users, sorted by id.' }),
              next_cursor: NextCursor,
            },
            { $id: 'UserPage', description: 'A page of users.' },
          ),
        },
      },
      handle: ({ query }) => toPage(findNamed(accounts.users(), query), query, ({ id }) => id, toUserBody),
    }),
    repeatable(
      endpoint({
        ...common,
        method: 'POST',
        path: '/admin/users',
        operationId: 'createUser',
        summary: 'Creates a user.',
        body: UserInput,
        examples: { paid: { name: 'Ada', plan: 'paid' } },
        responses: { 201: { description: 'The new user.', headers: etag, body: UserResult } },
        errors: WRITE_ERRORS,
        async handle({ body: { name, plan }, author }) {
          return respond(await commands.createUser(name, plan, author), 201)
        },
      }),
      async (_, change) => respond(await commands.createdUser(change), 201),
    ),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/users/{id}',
      access: operator('auditor'),
      operationId: 'readUser',
      summary: 'Returns a user.',
      params: { id: userId },
      headers: ifNoneMatchHeader,
      responses: { 200: { description: 'The user.', headers: etag, body: UserResult } },
      notFound: userNotFoundError,
      handle: ({ params }) => respond(requireUser(accounts, params.id)),
    }),
    endpoint({
      ...common,
      method: 'PATCH',
      path: '/admin/users/{id}',
      operationId: 'updateUser',
      summary: 'Updates the name, the plan or the limits of a user.',
      description:
        'A limit that the body does not name is that of the plan again, unless only the name changes. The ' +
        'warnings of a downgrade list the rules that stop applying.',
      params: { id: userId },
      headers: conditions,
      body: UserChange,
      examples: {
        name: { name: 'Ada Lovelace' },
        plan: { plan: 'free' },
        limit: { plan: 'paid', requests_per_minute: 120 },
        tokens: { tokens_per_minute: 50_000, max_concurrent: 4 },
        unlimited: { requests_per_minute: null },
      },
      responses: { 200: { description: 'The user after the change.', headers: etag, body: UserResult } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      notFound: userNotFoundError,
      async handle({ params, headers, body, author }) {
        const { name, plan, requests_per_minute, tokens_per_minute, max_concurrent } = body
        const before = requireUser(accounts, params.id)
        const change = {
          ...(name !== undefined && { name }),
          ...(plan !== undefined && { plan }),
          ...(requests_per_minute !== undefined && { requestsPerMinute: requests_per_minute }),
          ...(tokens_per_minute !== undefined && { tokensPerMinute: tokens_per_minute }),
          ...(max_concurrent !== undefined && { maxConcurrent: max_concurrent }),
        }
        const user = await commands.changeUser(before.id, change, author, parseCheck(headers))
        const warnings = listSuspendedRules(before.plan, user.plan, rules.of(user.id))
        return respond(user, 200, warnings.length > 0 ? { warnings } : {})
      },
    }),
    endpoint({
      ...common,
      method: 'DELETE',
      path: '/admin/users/{id}',
      operationId: 'deleteUser',
      summary: 'Deletes a user and revokes all keys.',
      description: 'The history of the user and the records of requests stay.',
      params: { id: userId },
      headers: conditions,
      responses: { 200: { description: 'The user was deleted.', body: Success } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      notFound: userNotFoundError,
      async handle({ params, headers, author }) {
        await commands.deleteUser(requireUser(accounts, params.id).id, author, parseCheck(headers))
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}
