import {
  type Author,
  type Changes,
  type Content,
  defineResource,
  GatewayError,
  type JsonObject,
  Nullable,
  OPERATOR_ROLES,
  type OperatorRole,
  randomId,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import { Timestamp } from '../../core/http/schemas.ts'
import type { ResourceServices } from '../../core/resources/commands.ts'
import { manageResource, WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { newOperatorId, newOperatorKey } from '../../core/util/ids.ts'
import { foldOperator, type OperatorAccount, operatorEvents } from '../../projections/events/operators.ts'
import type { Groups } from '../../projections/groups.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import { hashApiKey } from './api-key.ts'
import { createKeyIssuer, type Issued } from './issue-key.ts'
import { creationRank, futureTime, parseFutureTime } from './keys.ts'
import { createOwnKeyEndpoints, createRotation, lastUseOf } from './operator-keys.ts'
import { UserIdentity } from './users.ts'

export const OperatorScope = StrictObject(
  {
    groups: Type.Array(Type.Integer({ minimum: 1, format: 'int64' }), {
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      description: 'Ids of groups. Groups that are deleted later are no longer part of the scope.',
    }),
  },
  { $id: 'OperatorScope', description: 'The groups that an operator is confined to.' },
)

interface OperatorState {
  readonly groups: Pick<Groups, 'group'>
  readonly operators: Pick<OperatorAccounts, 'lastSignIn'>
}

/** Everybody who operates the gateway, all in one stream. */
export const operators = defineResource({
  name: 'operator',
  plural: 'operators',
  description: 'Somebody who operates the gateway.',
  path: '/admin/operators',
  tag: 'operators',
  roles: { read: 'auditor', write: 'admin' },
  id: randomId(newOperatorId, 'operator_gGvBxwr2CTTZ4RYVqXhM0SkL'),
  fields: {
    name: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the operator.' }),
    role: StringEnum(OPERATOR_ROLES, {
      description:
        'What the operator may do: auditor reads, editor also changes rules, admin does everything.',
    }),
    scope: Nullable(OperatorScope, {
      default: null,
      description: 'What the operator sees and changes; null: everything.',
    }),
    expires_at: Nullable(futureTime('When the key expires'), {
      default: null,
      description: 'When the key expires: a time in the future. Null: it does not.',
    }),
  },
  shown: {
    expires_at: Nullable(Timestamp('When the key expires; null if it does not.')),
    external: Type.Optional(UserIdentity),
    created_at: Timestamp('When the operator was created.'),
    last_used_at: Type.Optional(
      Nullable(Timestamp('In lists: the hour of the last request; null if there was none.')),
    ),
  },
  list: {
    rank: creationRank,
    order: 'oldest first',
    limit: 1000,
    more: {
      read:
        ({ operators }: OperatorState) =>
        ({ id }) => ({ last_used_at: lastUseOf(id, operators) }),
    },
  },
  summaries: {
    update: 'Updates the name, the role, the scope or the expiry of an operator.',
    delete: 'Removes an operator. The key is invalid immediately.',
  },
  examples: {
    create: {
      auditor: { name: 'Grace', role: 'auditor' },
      scoped: { name: 'Support desk', role: 'admin', scope: null },
    },
    update: { role: { role: 'editor' } },
  },
  events: {
    family: operatorEvents,
    created: 'OperatorCreated',
    changed: 'OperatorChanged',
    deleted: 'OperatorRemoved',
    fold: foldOperator,
  },
  complete({ expiresAt, ...given }, before) {
    if (before?.external) requireUnchanged(before, { expiresAt, ...given })
    return {
      ...given,
      ...(expiresAt !== undefined && { expiresAt: expiresAt && parseFutureTime(expiresAt) }),
    }
  },
  checkReferences({ scope }, { groups }: OperatorState) {
    for (const [index, id] of scope?.groups.entries() ?? [])
      if (groups.group(id) === undefined)
        throw invalidParameterError(`scope.groups[${index}]`, `scope: group ${id} was not found.`)
  },
})

/**
 * Throws 409 for what the identity provider says. See docs/decisions/operators.md, "The identity provider
 * says who is an operator".
 */
function requireUnchanged(
  { name, role, expiresAt }: OperatorAccount,
  given: Pick<Changes<typeof operators.fields>, 'name' | 'role' | 'expiresAt'>,
): void {
  const { name: newName = name, role: newRole = role, expiresAt: newExpiry = expiresAt } = given
  if (newName === name && newRole === role && newExpiry === expiresAt) return
  const message = `Name and role of ${name} come from the identity provider. Change them there.`
  throw new GatewayError('conflict', message)
}

type OperatorContent = Content<typeof operators.fields>

export interface OperatorServices extends ResourceServices, OperatorState {
  readonly operators: Pick<OperatorAccounts, 'find' | 'lastSignIn' | 'list' | 'revision'>
}

/** Manages the operators, whose keys are issued with them. */
export function manageOperators(services: OperatorServices) {
  const { find, list, revision } = services.operators
  const { commands, endpoints, parse, ...resource } = manageResource(
    operators,
    { find, list, streamRevision: revision },
    services,
  )

  const issuer = createKeyIssuer<OperatorAccount>({
    name: operators.name,
    title: 'OperatorWithKey',
    resource,
    commands,
    prefix: 'op',
    create: newOperatorKey,
  })
  const { issueNew, endpoint } = issuer
  const rotation = { resource, commands, issuer, operators: services.operators }
  const create = (content: OperatorContent, author: Author, key: string) =>
    commands.create(content, author, { hash: hashApiKey(key) })
  const createEndpoint = endpoint({
    ...endpoints.create,
    description: 'The key is returned only once.',
    errors: WRITE_ERRORS,
    // The cast is safe: the body matches the schema, and what it lacks has a default.
    issue: ({ body }, author, key) => create(parse(body as JsonObject, true) as OperatorContent, author, key),
  })
  return {
    create: (name: string, role: OperatorRole, author: Author): Promise<Issued<OperatorAccount>> =>
      issueNew((key) => create({ name, role, scope: null, expiresAt: null }, author, key)),
    endpoints: [
      // Before those with an id, which `self` would be.
      ...createOwnKeyEndpoints(rotation),
      ...Object.values({ ...endpoints, create: createEndpoint }),
      createRotation(rotation),
    ],
  }
}
