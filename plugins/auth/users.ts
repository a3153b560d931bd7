import {
  type Author,
  type Changes,
  defineResource,
  GatewayError,
  type JsonObject,
  Nullable,
  type OperatorScope,
  PLANS,
  type Plan,
  type RequestLimit,
  StrictObject,
  StringEnum,
  serialId,
  Type,
  type UserLimits,
} from '../../core/contract/index.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import { Timestamp } from '../../core/http/schemas.ts'
import type { ResourceServices } from '../../core/resources/commands.ts'
import { manageResource } from '../../core/resources/endpoints.ts'
import { toCamelCase } from '../../core/resources/names.ts'
import { buildIdSchema, createNotFoundError } from '../../core/resources/resource.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { foldUser, type User, userEvents } from '../../projections/events/users.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Identities } from '../../projections/identities.ts'
import type { IdSource } from '../../projections/ids.ts'
import type { Rules } from '../../projections/rules.ts'
import { KeySchema } from './keys.ts'
import { BudgetTerms } from './schemas.ts'
import { listSuspendedRules } from './suspended-rules.ts'

interface UserServices {
  readonly groups: Pick<Groups, 'group' | 'groupsOf'>
  readonly identities: Pick<Identities, 'identityOf'>
  readonly rules: Pick<Rules, 'of'>
  /** Of whoever has no own limit. */
  readonly planLimits?: PlanLimits
}

const LIMITS = [
  'requests_per_minute',
  'tokens_per_minute',
  'max_concurrent',
  'tool_calls_per_minute',
] as const

/** Limits by plan, as in the settings. Null: no limit. */
export type PlanLimits = Readonly<Record<(typeof LIMITS)[number], Readonly<Record<Plan, RequestLimit>>>>

/**
 * Throws 403 if a limit is above that of the plan, which those of groups without limits are. See
 * docs/decisions/operators.md, "What an operator with a scope sets stays below what was set for the group".
 */
function checkLimits(given: Changes<typeof limitFields>, plan: Plan, planLimits: PlanLimits): void {
  for (const name of LIMITS) {
    const limit = given[toCamelCase(name) as keyof UserLimits]
    const max = planLimits[name][plan]
    if (limit === undefined || max === null || (limit !== null && limit <= max)) continue
    const advice = 'Ask an operator without a scope.'
    const message = `${name} may be at most ${max}, the limit of the plan ${plan}. ${advice}`
    throw new GatewayError('scope_exceeded', message, { param: name })
  }
}

function ownLimit(name: string) {
  // The largest integer that is exact everywhere.
  const limit = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
  const description = `The user's own ${name}; null: no limit. Missing if the limit of the plan applies.`
  return Type.Optional(Nullable(limit, { description }))
}

const initialGroups = Type.Array(Type.Integer({ minimum: 1, format: 'int64' }), {
  maxItems: 100,
  uniqueItems: true,
  description:
    'Ids of groups that the user is put into. An operator with a scope must name some of its groups, ' +
    'unless the scope has only one.',
})

/** Puts a new user into groups. Users that an operator with a scope creates are in one of its groups. */
function prepareGroups(
  { groups }: JsonObject,
  scope: OperatorScope | undefined,
  { groups: known }: UserServices,
) {
  // The cast is safe: the body matches the schema.
  const ids = (groups as readonly number[] | undefined) ?? scope?.groups() ?? []
  const isKnown = (id: number) => (scope ? scope.hasGroup(id) : known.group(id) !== undefined)
  for (const [index, id] of ids.entries())
    if (!isKnown(id)) throw invalidParameterError(`groups[${index}]`, `groups: group ${id} was not found.`)
  if (scope && ids.length === 0)
    throw new GatewayError('scope_exceeded', 'The user must be in a group of your scope.', {
      param: 'groups',
    })
  if (scope && groups === undefined && ids.length > 1) {
    const message = `groups must name the groups of the user. Your scope has several: ${ids.join(', ')}.`
    throw new GatewayError('missing_parameter', message, { param: 'groups' })
  }
  const sorted = [...ids].sort((a, b) => a - b)
  return (userId: number) =>
    sorted.map((groupId) => ({ type: 'UserAddedToGroup', data: { userId, groupId } }))
}

/** Who a user is at an identity provider. */
export const UserIdentity = StrictObject(
  {
    issuer: Type.String({ minLength: 1, maxLength: 1000, description: 'The iss of its tokens.' }),
    subject: Type.String({ minLength: 1, maxLength: 1000, description: 'What identifies the user there.' }),
  },
  { $id: 'UserIdentity', description: 'The subject of an identity provider.' },
)

const limitFields = {
  requests_per_minute: ownLimit('limit of requests per minute'),
  tokens_per_minute: ownLimit('limit of tokens per minute'),
  max_concurrent: ownLimit('limit of inference requests at the same time'),
  tool_calls_per_minute: ownLimit('limit of tool calls per minute'),
}

const NO_OWN_LIMITS = Object.fromEntries(LIMITS.map((name) => [toCamelCase(name), undefined]))

/** The users of the gateway. Their keys are events of them: see `keys.ts`. */
export const users = defineResource({
  name: 'user',
  plural: 'users',
  description: 'A user of the gateway.',
  path: '/admin/users',
  tag: 'admin',
  roles: { read: 'auditor', write: 'admin' },
  scoped: {
    read: 'filtered',
    write: 'filtered',
    includes: ({ id }, scope) => scope.hasUser(id),
    includesEvent: ({ data: { groupId } }, scope) => groupId === undefined || scope.hasGroup(Number(groupId)),
    narrow: ({ groups, ...user }, scope) => ({
      ...user,
      // The cast is safe: the schema has a list of ids.
      ...(groups ? { groups: (groups as readonly number[]).filter(scope.hasGroup) } : {}),
    }),
    checkChange(given, _, before, { planLimits }: UserServices) {
      if (planLimits) checkLimits(given, given.plan ?? before?.plan ?? 'free', planLimits)
    },
  },
  id: serialId(7),
  fields: {
    name: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the user.' }),
    plan: StringEnum(PLANS, { description: 'Plan of the user.' }),
    ...limitFields,
  },
  onlyNew: { fields: { groups: Type.Optional(initialGroups) }, prepare: prepareGroups },
  onlyLater: LIMITS,
  shown: {
    budget: Type.Optional(BudgetTerms),
    groups: Type.Array(Type.Integer({ format: 'int64' }), { description: 'Ids of the groups of the user.' }),
    identity: Type.Optional(UserIdentity),
    created_at: Timestamp('When the user was created.'),
    keys: Type.Array(KeySchema, { description: 'All keys of the user, including revoked ones.' }),
  },
  list: { rank: ({ id }) => id, order: 'sorted by id', limit: 100, isSearchable: true },
  summaries: {
    update: 'Updates the name, the plan or the limits of a user.',
    delete: 'Deletes a user and revokes all keys.',
  },
  descriptions: {
    update:
      'A limit that the body does not name is that of the plan again, unless only the name changes. The ' +
      'warnings of a downgrade list the rules that stop applying.',
    delete: 'The history of the user and the records of requests stay.',
  },
  examples: {
    create: { paid: { name: 'Ada', plan: 'paid' }, groups: { name: 'Ada', plan: 'paid', groups: [] } },
    update: {
      name: { name: 'Ada Lovelace' },
      plan: { plan: 'free' },
      limit: { plan: 'paid', requests_per_minute: 120 },
      tokens: { tokens_per_minute: 50_000, max_concurrent: 4 },
      unlimited: { requests_per_minute: null },
    },
  },
  events: {
    family: userEvents,
    created: 'UserCreated',
    changed: {
      name: 'UserRenamed',
      plan: 'PlanChanged',
      requestsPerMinute: 'RequestLimitChanged',
      tokensPerMinute: 'TokenLimitChanged',
      maxConcurrent: 'ConcurrencyLimitChanged',
      toolCallsPerMinute: 'ToolCallLimitChanged',
    },
    deleted: 'UserDeleted',
    beforeDeletion: ({ id, keys }) =>
      keys
        .filter(({ revokedAt }) => revokedAt === null)
        .map((key) => ({ type: 'KeyRevoked', data: { userId: id, keyId: key.id } })),
    fold: foldUser,
  },
  derive({ id }: User, { groups, identities }: UserServices) {
    const { issuer, subject } = identities.identityOf(id) ?? {}
    return { groups: groups.groupsOf(id), ...(subject && { identity: { issuer, subject } }) }
  },
  /** See docs/decisions/limits.md, "Without a limit of their own, users have the plan's". */
  complete(given, before) {
    if (before === undefined || Object.keys(given).join() === 'name') return given
    return { ...NO_OWN_LIMITS, ...given }
  },
  warn: (before, after, { rules }) => listSuspendedRules(before.plan, after.plan, rules.of(after.id)),
})

export const userId = buildIdSchema(users)

/** The 404 for a user. `id` may also be a text in a path that is no id. */
export const userNotFoundError = (id: number | string) => createNotFoundError(users, id)

/** Throws 404 if the user does not exist. */
export function requireUser(accounts: Pick<Accounts, 'user'>, id: number): User {
  const user = accounts.user(id)
  if (user === undefined) throw userNotFoundError(id)
  return user
}

interface ManagedUserServices extends ResourceServices, UserServices {
  readonly accounts: Pick<Accounts, 'user' | 'users'>
  readonly ids: IdSource
}

export function manageUsers(services: ManagedUserServices) {
  const { accounts, ids } = services
  const state = {
    find: accounts.user,
    list: accounts.users,
    streamRevision: (id: number) => accounts.user(id)?.revision ?? -1,
  }
  return {
    ...manageResource(users, state, services),
    /**
     * Creates a user with the first id of the log. Resolves with undefined if an id was assigned before: of
     * several gateways that start on an empty log, one creates the user.
     */
    async createFirst(name: string, plan: Plan, author: Author): Promise<User | undefined> {
      const first = await ids.reserveFirst(author)
      if (first === undefined) return undefined
      const { commands } = manageResource(users, state, { ...services, ids: { reserve: async () => first } })
      return commands.create({ name, plan }, author)
    },
  }
}
