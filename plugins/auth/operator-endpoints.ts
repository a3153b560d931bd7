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
import { contentConditions, contentEtag, ifNoneMatchHeader } from '../../core/http/conditional.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { PAGE, toPage } from '../../core/http/page.ts'
import { NextCursor, pageQuery, Success, Timestamp } from '../../core/http/schemas.ts'
import type { OperatorAccount } from '../../projections/events/operators.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
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

const { etag, conditions, respond, parseCheck } = contentConditions('operator', showOperator)

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
        responses: {
          201: { description: 'The new operator.', headers: etag, body: data(OperatorWithKeySchema) },
        },
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
      summary: 'Lists all operators, in pages, oldest first.',
      query: pageQuery({ ...PAGE, default: PAGE.max }, 'YWZ0ZXI6Nw'),
      responses: {
        200: {
          description: 'A page of operators.',
          body: Type.Object(
            {
              data: Type.Array(OperatorSchema, { description: 'The operators, oldest first.' }),
              next_cursor: NextCursor,
            },
            { $id: 'OperatorPage', description: 'A page of operators.' },
          ),
        },
      },
      handle: ({ query: { limit = PAGE.max, ...query } }) =>
        toPage(operators.list(), { limit, ...query }, creationRank, showOperator),
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/operators/{id}',
      access: operator('auditor'),
      operationId: 'readOperator',
      summary: 'Returns an operator.',
      params,
      headers: ifNoneMatchHeader,
      responses: { 200: { description: 'The operator.', headers: etag, body: data(OperatorSchema) } },
      handle({ params }) {
        const found = operators.find(params.id)
        if (found === undefined) throw operatorNotFoundError(params.id)
        return respond(found)
      },
    }),
    endpoint({
      ...common,
      method: 'PATCH',
      path: '/admin/operators/{id}',
      operationId: 'updateOperator',
      summary: 'Updates the name or the role of an operator.',
      params,
      headers: conditions,
      body: OperatorChange,
      examples: { role: { role: 'editor' } },
      responses: {
        200: { description: 'The operator after the change.', headers: etag, body: data(OperatorSchema) },
      },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle({ params, headers, body, author }) {
        return respond(await commands.change(params.id, body, author, parseCheck(headers)))
      },
    }),
    endpoint({
      ...common,
      method: 'DELETE',
      path: '/admin/operators/{id}',
      operationId: 'deleteOperator',
      summary: 'Removes an operator. The key is invalid immediately.',
      params,
      headers: conditions,
      responses: { 200: { description: 'The operator was removed.', body: Success } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle({ params, headers, author }) {
        await commands.remove(params.id, author, parseCheck(headers))
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}

function showNew({ operator, key }: NewOperator) {
  const shown = showOperator(operator)
  return { status: 201, headers: { etag: contentEtag(shown) }, body: { data: { ...shown, key } } }
}

/** Microseconds since 1970. */
function creationRank({ createdAt }: OperatorAccount): number {
  return Date.parse(createdAt) * 1000 + Number(/\.\d{3}(\d{3})Z$/.exec(createdAt)?.[1] ?? 0)
}

/** An operator as the API shows it, without the hash. */
function showOperator({ id, name, role, createdAt }: OperatorAccount): JsonObject {
  return { id, name, role, created_at: createdAt }
}
