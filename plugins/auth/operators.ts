import {
  type Author,
  data,
  defineResource,
  type Endpoint,
  endpoint,
  GatewayError,
  OPERATOR_ROLES,
  type OperatorRole,
  operator,
  randomId,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { etagHeader } from '../../core/http/conditional.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { Timestamp } from '../../core/http/schemas.ts'
import type { ResourceServices } from '../../core/resources/commands.ts'
import { manageResource, WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { newOperatorId, newOperatorKey } from '../../core/util/ids.ts'
import { foldOperator, type OperatorAccount, operatorEvents } from '../../projections/events/operators.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import { hashApiKey } from './api-key.ts'
import { deriveRepeatedKey } from './derive-key.ts'

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
  },
  shown: { created_at: Timestamp('When the operator was created.') },
  list: { rank: creationRank, order: 'oldest first', limit: 1000 },
  summaries: {
    update: 'Updates the name or the role of an operator.',
    delete: 'Removes an operator. The key is invalid immediately.',
  },
  examples: {
    create: { auditor: { name: 'Grace', role: 'auditor' } },
    update: { role: { role: 'editor' } },
  },
  events: {
    family: operatorEvents,
    created: 'OperatorCreated',
    changed: 'OperatorChanged',
    deleted: 'OperatorRemoved',
    fold: foldOperator,
  },
})

/** Microseconds since 1970. */
function creationRank({ createdAt }: OperatorAccount): number {
  return Date.parse(createdAt) * 1000 + Number(/\.\d{3}(\d{3})Z$/.exec(createdAt)?.[1] ?? 0)
}

/** An operator with its key, which is not stored and cannot be retrieved again. */
export interface NewOperator {
  readonly operator: OperatorAccount
  readonly key: string
}

export interface OperatorServices extends ResourceServices {
  readonly operators: Pick<OperatorAccounts, 'find' | 'list' | 'revision'>
}

/** Manages the operators, whose keys are issued with them. */
export function manageOperators(services: OperatorServices) {
  const { find, list, revision } = services.operators
  const { commands, endpoints, schemas, show, etag } = manageResource(
    operators,
    { find, list, streamRevision: revision },
    services,
  )

  async function create(
    name: string,
    role: OperatorRole,
    author: Author,
    key = newOperatorKey(),
  ): Promise<NewOperator> {
    const operator = await commands.create({ name, role }, author, { hash: hashApiKey(key) })
    return { operator, key }
  }

  function showNew({ operator, key }: NewOperator) {
    return { status: 201, headers: { etag: etag(operator) }, body: { data: { ...show(operator), key } } }
  }

  const OperatorWithKey = Type.Object(
    {
      ...schemas.shown.properties,
      key: Type.String({ description: 'The key. It is stored as a hash and cannot be retrieved again.' }),
    },
    { $id: 'OperatorWithKey', description: 'An operator with the key.' },
  )

  const createEndpoint: Endpoint = repeatable(
    endpoint({
      ...endpoints.create,
      access: operator(operators.roles.write),
      description: 'The key is returned only once.',
      body: schemas.input,
      responses: {
        201: {
          description: 'The new operator.',
          headers: etagHeader('operator'),
          body: data(OperatorWithKey),
        },
      },
      errors: WRITE_ERRORS,
      async handle({ body, author, headers }) {
        const { name, role } = body as { name: string; role: OperatorRole }
        const key = author.idempotency && (await deriveRepeatedKey('op', headers, 'operator'))
        return showNew(await create(name, role, author, key))
      },
    }),
    async ({ headers }, change) => {
      const operator = await commands.created(change)
      const key = await deriveRepeatedKey('op', headers, 'operator')
      if (operator.hash === hashApiKey(key)) return showNew({ operator, key })
      const message =
        `The first request created the operator ${operator.id}, whose key can only be shown again with the ` +
        'same operator key. Remove it and create another one with a new Idempotency-Key.'
      throw new GatewayError('conflict', message)
    },
  )
  return { create, endpoints: Object.values({ ...endpoints, create: createEndpoint }) }
}
