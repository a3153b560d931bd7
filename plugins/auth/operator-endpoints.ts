import {
  data,
  type Endpoint,
  endpoint,
  type JsonObject,
  OPERATOR_ROLES,
  operator,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { Success, Timestamp } from '../../core/http/schemas.ts'
import type { OperatorAccount, OperatorAccounts } from '../../projections/operator-accounts.ts'
import { deriveRepeatedKey } from './derive-key.ts'
import { type NewOperator, type OperatorCommands, operatorNotFoundError } from './operator-commands.ts'
import { WRITE_ERRORS } from './schemas.ts'

const common = { access: operator('admin'), tags: ['operators'] }

const name = Type.String({ minLength: 1, maxLength: 128, description: 'Name of the operator.' })
const role = StringEnum(OPERATOR_ROLES, {
  description: 'What the operator may do: auditor reads, editor also changes rules, admin does everything.',
})

const OperatorInput = StrictObject({ name, role }, { $id: 'OperatorInput', description: 'A new operator.' })

const OperatorChange = StrictObject(
  { name: Type.Optional(name), role: Type.Optional(role) },
  { $id: 'OperatorChange', description: 'The fields to change.', minProperties: 1 },
)

const id = Type.String({ description: 'Id of the operator, which is not secret.' })
const operatorFields = { id, name, role, created_at: Timestamp('When the operator was created.') }

const OperatorSchema = Type.Object(operatorFields, {
  $id: 'Operator',
  description: 'Somebody who operates the gateway.',
})

const OperatorWithKeySchema = Type.Object(
  {
    ...operatorFields,
    key: Type.String({ description: 'The key. It is stored as a hash and cannot be retrieved again.' }),
  },
  { $id: 'OperatorWithKey', description: 'An operator with the key.' },
)

const params = {
  id: Type.String({
    minLength: 1,
    description: 'Id of an operator.',
    examples: ['operator_gGvBxwr2CTTZ4RYVqXhM0SkL'],
  }),
}

/** Creates the endpoints `/admin/operators`. */
export function createOperatorEndpoints(
  operators: OperatorAccounts,
  commands: OperatorCommands,
): readonly Endpoint[] {
  return [
    repeatable(
      endpoint({
        ...common,
        method: 'POST',
        path: '/admin/operators',
        operationId: 'createOperator',
        summary: 'Creates an operator.',
        description: 'The key is returned only once.',
        body: OperatorInput,
        examples: { auditor: { name: 'Grace', role: 'auditor' } },
        responses: { 201: { description: 'The new operator.', body: data(OperatorWithKeySchema) } },
        errors: WRITE_ERRORS,
        async handle({ body, author, headers }) {
          const key = author.idempotency && (await deriveRepeatedKey('op', headers, 'operator'))
          return showNew(await commands.create(body.name, body.role, author, key))
        },
      }),
      async ({ headers }, change) =>
        showNew(await commands.created(change, await deriveRepeatedKey('op', headers, 'operator'))),
    ),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/operators',
      access: operator('auditor'),
      operationId: 'listOperators',
      summary: 'Lists all operators, oldest first.',
      responses: {
        200: {
          description: 'All operators.',
          body: data(Type.Array(OperatorSchema, { description: 'The operators, oldest first.' })),
        },
      },
      handle: () => ({ status: 200, body: { data: operators.list().map(showOperator) } }),
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/operators/{id}',
      access: operator('auditor'),
      operationId: 'readOperator',
      summary: 'Returns an operator.',
      params,
      responses: { 200: { description: 'The operator.', body: data(OperatorSchema) } },
      handle({ params }) {
        const found = operators.find(params.id)
        if (found === undefined) throw operatorNotFoundError(params.id)
        return { status: 200, body: { data: showOperator(found) } }
      },
    }),
    endpoint({
      ...common,
      method: 'PATCH',
      path: '/admin/operators/{id}',
      operationId: 'updateOperator',
      summary: 'Updates the name or the role of an operator.',
      params,
      body: OperatorChange,
      examples: { role: { role: 'editor' } },
      responses: { 200: { description: 'The operator after the change.', body: data(OperatorSchema) } },
      errors: WRITE_ERRORS,
      async handle({ params, body, author }) {
        const changed = await commands.change(params.id, body, author)
        return { status: 200, body: { data: showOperator(changed) } }
      },
    }),
    endpoint({
      ...common,
      method: 'DELETE',
      path: '/admin/operators/{id}',
      operationId: 'deleteOperator',
      summary: 'Removes an operator. The key is invalid immediately.',
      params,
      responses: { 200: { description: 'The operator was removed.', body: Success } },
      errors: WRITE_ERRORS,
      async handle({ params, author }) {
        await commands.remove(params.id, author)
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}

function showNew({ operator, key }: NewOperator) {
  return { status: 201, body: { data: { ...showOperator(operator), key } } }
}

/** An operator as the API shows it, without the hash. */
function showOperator({ id, name, role, createdAt }: OperatorAccount): JsonObject {
  return { id, name, role, created_at: createdAt }
}
