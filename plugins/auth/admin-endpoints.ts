import {
  type GatewayContext,
  GatewayError,
  type GatewayMiddleware,
  type GatewayRouter,
  type JsonObject,
  Nullable,
  PLANS,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { jsonBody } from '../../core/http/read-body.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import type { Accounts, User } from '../../projections/accounts.ts'
import type { AccountCommands } from './account-commands.ts'
import { showKey, showUser } from './show-account.ts'

const plan = StringEnum(PLANS)

/** The body of `POST /admin/users`. */
export const newUserSchema = StrictObject({ name: Type.String({ minLength: 1, maxLength: 128 }), plan })

const parseNewUser = createLazyParser(newUserSchema)

/** The body of `PATCH /admin/users/{id}`. */
export const userChangeSchema = StrictObject(
  {
    plan: Type.Optional(plan),
    requests_per_minute: Type.Optional(Nullable(Type.Integer({ minimum: 1 }))),
  },
  { minProperties: 1 },
)

const parseUserChange = createLazyParser(userChangeSchema)

/** Adds the `/admin` endpoints for users and keys. `guard` admits only requests with the admin key. */
export function addAdminRoutes(
  router: GatewayRouter,
  accounts: Accounts,
  commands: AccountCommands,
  guard: GatewayMiddleware,
): void {
  router.get('/admin/users', guard, async (ctx) => {
    ctx.body = { data: accounts.users().map(toUserBody) }
  })
  router.post('/admin/users', guard, async (ctx) => {
    const { name, plan } = parseNewUser(jsonBody(ctx))
    ctx.status = 201
    ctx.body = { data: toUserBody(await commands.createUser(name, plan, authorOf(ctx))) }
  })
  router.patch('/admin/users/:id', guard, async (ctx) => {
    const { requests_per_minute, ...change } = parseUserChange(jsonBody(ctx))
    const limit = requests_per_minute === undefined ? {} : { requestsPerMinute: requests_per_minute }
    const user = requireUser(accounts, ctx.params.id)
    ctx.body = {
      data: toUserBody(await commands.changeUser(user.id, { ...change, ...limit }, authorOf(ctx))),
    }
  })
  router.post('/admin/users/:id/keys', guard, async (ctx) => {
    const user = requireUser(accounts, ctx.params.id)
    ctx.status = 201
    ctx.body = { data: await commands.issueKey(user.id, authorOf(ctx)) }
  })
  router.delete('/admin/keys/:id', guard, async (ctx) => {
    await commands.revokeKey(ctx.params.id ?? '', authorOf(ctx))
    ctx.body = { success: true }
  })
}

function authorOf(ctx: GatewayContext) {
  return { actor: 'admin', requestId: ctx.requestId }
}

function requireUser(accounts: Accounts, id: string | undefined): User {
  const user = accounts.user(Number(id))
  if (user === undefined) throw new GatewayError('not_found', `User ${id} was not found.`)
  return user
}

function toUserBody(user: User): JsonObject {
  return { ...showUser(user), keys: user.keys.map(showKey) }
}
