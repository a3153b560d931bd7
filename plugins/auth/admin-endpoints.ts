import type { IncomingHttpHeaders } from 'node:http'
import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  type JsonObject,
  operator,
  Type,
} from '../../core/contract/index.ts'
import { decodeCursor, encodeCursor } from '../../core/http/cursor.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { NextCursor, pageQuery, Success } from '../../core/http/schemas.ts'
import type { Accounts, User } from '../../projections/accounts.ts'
import type { Groups } from '../../projections/groups.ts'
import type { AccountCommands } from './account-commands.ts'
import { bearerTokenOf } from './authenticate.ts'
import { deriveApiKey } from './derive-key.ts'
import { IssuedKey, keyId, UserChange, UserInput, UserSchema, userId } from './schemas.ts'
import { showKey, showUser } from './show-account.ts'

const PAGE = { default: 100, max: 1000 }

const common = { access: operator('admin'), tags: ['admin'] }

/** Errors of endpoints that append to the event log. */
const WRITE_ERRORS = ['conflict', 'change_too_large', 'event_log_full'] as const

/** Creates the `/admin` endpoints for users and keys. */
export function createAdminEndpoints(
  accounts: Accounts,
  groups: Pick<Groups, 'groupsOf'>,
  commands: AccountCommands,
): readonly Endpoint[] {
  const toUserBody = (user: User): JsonObject => ({
    ...showUser(user, groups.groupsOf(user.id)),
    keys: user.keys.map(showKey),
  })

  function requireUser(id: number): User {
    const user = accounts.user(id)
    if (user === undefined) throw userNotFoundError(String(id))
    return user
  }

  return [
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/users',
      operationId: 'listUsers',
      summary: 'Lists all users, in pages sorted by id.',
      query: pageQuery(PAGE, 'YWZ0ZXI6Nw'),
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
      handle({ query: { limit = PAGE.default, cursor } }) {
        const after = cursor === undefined ? 0 : decodeCursor('after', cursor)
        const users = accounts.users().filter(({ id }) => id > after)
        const page = users.slice(0, limit)
        const last = users.length > limit ? page.at(-1) : undefined
        return {
          status: 200,
          body: { data: page.map(toUserBody), next_cursor: last ? encodeCursor('after', last.id) : null },
        }
      },
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
        responses: { 201: { description: 'The new user.', body: data(UserSchema) } },
        errors: WRITE_ERRORS,
        async handle({ body: { name, plan }, author }) {
          const user = await commands.createUser(name, plan, author)
          return { status: 201, body: { data: toUserBody(user) } }
        },
      }),
      async (_, change) => ({ status: 201, body: { data: toUserBody(await commands.createdUser(change)) } }),
    ),
    endpoint({
      ...common,
      method: 'PATCH',
      path: '/admin/users/{id}',
      operationId: 'updateUser',
      summary: 'Updates the plan or the limits of a user.',
      description: 'A limit that the body does not name is that of the plan again.',
      params: { id: userId },
      body: UserChange,
      examples: {
        plan: { plan: 'free' },
        limit: { plan: 'paid', requests_per_minute: 120 },
        tokens: { tokens_per_minute: 50_000, max_concurrent: 4 },
        unlimited: { requests_per_minute: null },
      },
      responses: { 200: { description: 'The user after the change.', body: data(UserSchema) } },
      errors: WRITE_ERRORS,
      notFound: userNotFoundError,
      async handle({ params, body, author }) {
        const { plan, requests_per_minute, tokens_per_minute, max_concurrent } = body
        const { id } = requireUser(params.id)
        const change = {
          ...(plan !== undefined && { plan }),
          ...(requests_per_minute !== undefined && { requestsPerMinute: requests_per_minute }),
          ...(tokens_per_minute !== undefined && { tokensPerMinute: tokens_per_minute }),
          ...(max_concurrent !== undefined && { maxConcurrent: max_concurrent }),
        }
        const user = await commands.changeUser(id, change, author)
        return { status: 200, body: { data: toUserBody(user) } }
      },
    }),
    repeatable(
      endpoint({
        ...common,
        method: 'POST',
        path: '/admin/users/{id}/keys',
        operationId: 'issueKey',
        summary: 'Creates an API key for a user.',
        description: 'The key is returned only once.',
        params: { id: userId },
        responses: { 201: { description: 'The new key.', body: data(IssuedKey) } },
        errors: WRITE_ERRORS,
        notFound: userNotFoundError,
        async handle({ params, author, headers }) {
          const { id } = requireUser(params.id)
          const key = author.idempotency && (await repeatedKey(headers, id))
          return { status: 201, body: { data: await commands.issueKey(id, author, key) } }
        },
      }),
      async ({ params, headers }, change) => {
        const { id } = params as { id: number }
        const issued = await commands.issuedKey(change, await repeatedKey(headers, id))
        return { status: 201, body: { data: issued } }
      },
    ),
    endpoint({
      ...common,
      method: 'DELETE',
      path: '/admin/keys/{id}',
      operationId: 'revokeKey',
      summary: 'Revokes an API key.',
      params: { id: keyId },
      responses: { 200: { description: 'The key is revoked.', body: Success } },
      errors: WRITE_ERRORS,
      async handle({ params, author }) {
        await commands.revokeKey(params.id, author)
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}

/** The admin key is the bearer token of every request of an operator. */
function repeatedKey(headers: IncomingHttpHeaders, userId: number): Promise<string> {
  return deriveApiKey(bearerTokenOf(headers.authorization) ?? '', String(headers['idempotency-key']), userId)
}

function userNotFoundError(id: string): GatewayError {
  return new GatewayError('not_found', `User ${id} was not found.`)
}
