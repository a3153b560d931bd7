import {
  type Author,
  defineResource,
  OPERATOR_ROLES,
  type OperatorRole,
  randomId,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { Timestamp } from '../../core/http/schemas.ts'
import type { ResourceServices } from '../../core/resources/commands.ts'
import { manageResource, WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { newOperatorId, newOperatorKey } from '../../core/util/ids.ts'
import { foldOperator, type OperatorAccount, operatorEvents } from '../../projections/events/operators.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import { hashApiKey } from './api-key.ts'
import { createKeyIssuer, type Issued } from './issue-key.ts'
import { creationRank } from './keys.ts'

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

export interface OperatorServices extends ResourceServices {
  readonly operators: Pick<OperatorAccounts, 'find' | 'list' | 'revision'>
}

/** Manages the operators, whose keys are issued with them. */
export function manageOperators(services: OperatorServices) {
  const { find, list, revision } = services.operators
  const { commands, endpoints, ...resource } = manageResource(
    operators,
    { find, list, streamRevision: revision },
    services,
  )

  const { issueNew, endpoint } = createKeyIssuer<OperatorAccount>({
    name: operators.name,
    title: 'OperatorWithKey',
    resource,
    commands,
    prefix: 'op',
    create: newOperatorKey,
  })
  const create = (content: { name: string; role: OperatorRole }, author: Author, key: string) =>
    commands.create(content, author, { hash: hashApiKey(key) })
  const createEndpoint = endpoint({
    ...endpoints.create,
    description: 'The key is returned only once.',
    errors: WRITE_ERRORS,
    issue: ({ body }, author, key) => create(body as { name: string; role: OperatorRole }, author, key),
  })
  return {
    create: (name: string, role: OperatorRole, author: Author): Promise<Issued<OperatorAccount>> =>
      issueNew((key) => create({ name, role }, author, key)),
    endpoints: Object.values({ ...endpoints, create: createEndpoint }),
  }
}
