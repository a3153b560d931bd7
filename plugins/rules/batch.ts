import {
  type EndpointResponse,
  endpoint,
  GatewayError,
  type JsonObject,
  type Static,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { Variants } from '../../core/dialects/schema-types.ts'
import { anyRevision, onlyRevision, type Precondition, repeatable } from '../../core/http/change-headers.ts'
import { AnyFields, Success, WarningSchema } from '../../core/http/schemas.ts'
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { mapInSlices } from '../../core/util/cooperative-yield.ts'
import { RULE_KINDS } from '../../projections/rules.ts'
import { createdRuleIds, type PastRuleChange, pastCommands, readRuleChange } from './replay.ts'
import {
  executeRuleChanges,
  prefixErrors,
  prefixRejection,
  type RuleChange,
  type RuleChangeResult,
  type RuleCommandSet,
  type RuleCommands,
  type RuleServices,
} from './rule-commands.ts'
import type { RuleKinds } from './rule-kind.ts'
import type { RuleScope } from './rule-scopes.ts'

const kind = StringEnum(RULE_KINDS, { description: 'Kind of the rule.' })
const id = Type.Integer({ minimum: 1, description: 'Id of the rule.' })
const revision = Type.Optional(
  Type.Integer({ minimum: 1, description: 'The expected revision of the rule, like If-Match.' }),
)
const data = AnyFields('The fields of the rule, as its own endpoints accept them.')

const newData = Type.Unsafe<JsonObject>({ ...data, 'x-documented': { minProperties: 1 } })

const CreateOperation = StrictObject(
  { op: Type.Literal('create', { description: 'Always create.' }), kind, data: newData },
  { $id: 'CreateRuleOperation', description: 'A new rule.' },
)

const UpdateOperation = StrictObject(
  { op: Type.Literal('update', { description: 'Always update.' }), kind, id, revision, data },
  { $id: 'UpdateRuleOperation', description: 'A change to the given fields of a rule.' },
)

const DeleteOperation = StrictObject(
  { op: Type.Literal('delete', { description: 'Always delete.' }), kind, id, revision },
  { $id: 'DeleteRuleOperation', description: 'The deletion of a rule.' },
)

const Operation = Variants('op', [CreateOperation, UpdateOperation, DeleteOperation], {
  isClosed: true,
  $id: 'RuleOperation',
  description: 'One change to one rule.',
})

/** The body of `POST /v1/rules/batch`. */
const RuleBatch = StrictObject(
  {
    operations: Type.Array(Operation, {
      minItems: 1,
      maxItems: 1000,
      description: 'The changes. Each rule can be changed once.',
    }),
  },
  { $id: 'RuleBatch', description: 'Changes that are made together or not at all.' },
)

/** Converts operations to changes. Rejects with a `GatewayError` that names the invalid operation. */
async function toRuleChanges(
  { operations }: Static<typeof RuleBatch>,
  commands: RuleCommandSet,
  ownerId: number,
): Promise<readonly RuleChange[]> {
  const seen = new Set<number>()
  return mapInSlices(operations, (operation, index) => {
    const path = `operations[${index}]`
    const ruleId = 'id' in operation ? operation.id : undefined
    if (ruleId !== undefined && seen.has(ruleId)) {
      const message = `${path}: rule ${ruleId} is already in this batch. Use one operation per rule.`
      throw new GatewayError('invalid_value', message)
    }
    if (ruleId !== undefined) seen.add(ruleId)
    const change = prefixErrors(path, () => toChange(operation, commands[operation.kind](ownerId)))
    return {
      ...change,
      prepare: () => prefixRejection(path, change),
      decide: (ruleId) => prefixErrors(path, () => change.decide(ruleId)),
    }
  })
}

/** The results of operations that were executed before. */
async function replayOperations(
  { operations }: Static<typeof RuleBatch>,
  past: PastRuleChange,
  commands: RuleCommandSet,
): Promise<readonly RuleChangeResult[]> {
  const results = new Map<object, RuleChangeResult>()
  for (const kind of RULE_KINDS) {
    const created = createdRuleIds(past, kind)
    const shown = await pastCommands(past, commands[kind])
    for (const operation of operations.filter((operation) => operation.kind === kind)) {
      const ruleId = operation.op === 'create' ? (created.shift() ?? 0) : operation.id
      results.set(operation, operation.op === 'delete' ? { type: 'removed' } : shown.show(ruleId))
    }
  }
  return operations.flatMap((operation) => results.get(operation) ?? [])
}

function toChange(operation: Static<typeof Operation>, commands: RuleCommands): RuleChange {
  switch (operation.op) {
    case 'create':
      return commands.create(operation.data)
    case 'update':
      return commands.update(operation.id, operation.data, expectedRevision(operation))
    case 'delete':
      return commands.remove(operation.id, expectedRevision(operation))
    default:
      return operation satisfies never
  }
}

function expectedRevision({ revision }: { readonly revision?: number }): Precondition {
  return revision === undefined ? anyRevision : onlyRevision(revision)
}

const OperationWarning = Type.Object(
  {
    ...WarningSchema.properties,
    operation: Type.Integer({ minimum: 0, description: 'Index of the operation that the warning is about.' }),
  },
  { $id: 'RuleOperationWarning', description: 'A warning about a rule after its change.' },
)

/** Creates `…/rules/batch`: atomic changes to rules of all kinds. */
export function createBatchEndpoint(
  scope: RuleScope,
  kinds: RuleKinds,
  commands: RuleCommandSet,
  services: RuleServices,
) {
  const ruleSchemas = RULE_KINDS.map((kind) => kinds[kind].api.schema)
  const BatchResult = Type.Union([...ruleSchemas, Success], {
    $id: 'RuleOperationResult',
    description: 'A rule after its change, or the success of a deletion.',
  })
  const creations = RULE_KINDS.map((kind) => {
    const [data] = Object.values(kinds[kind].api.examples)
    return { kind, op: 'create', data }
  })
  return repeatable(
    endpoint({
      method: 'POST',
      path: `${scope.path}/rules/batch`,
      params: scope.params,
      access: scope.write,
      operationId: `change${scope.operation}Rules`,
      summary: 'Applies several changes to rules of all kinds atomically.',
      tags: ['rules'],
      body: RuleBatch,
      examples: {
        create: {
          operations: creations,
        },
        change: {
          operations: [
            { kind: 'routing', op: 'update', id: 7, data: { priority: 1 } },
            { kind: 'firewall', op: 'delete', id: 8, revision: 1 },
          ],
        },
      },
      responses: {
        200: {
          description: 'All changes were made.',
          body: Type.Object(
            {
              data: Type.Array(BatchResult, { description: 'One result for each operation, in order.' }),
              warnings: Type.Optional(
                Type.Array(OperationWarning, { description: 'Warnings; missing if there are none.' }),
              ),
            },
            { $id: 'RuleOperationResultList', description: 'The results.' },
          ),
        },
      },
      errors: [...['invalid_rule', 'not_found', 'revision_mismatch', 'validation_error'], ...WRITE_ERRORS],
      async handle(call) {
        const ownerId = scope.ownerOf(call)
        services.writer.checkAvailable()
        const changes = await toRuleChanges(call.body, commands, ownerId)
        return toBatchResponse(await executeRuleChanges(changes, services, ownerId, call.author))
      },
    }),
    async (call, change) => {
      const past = await readRuleChange(change, services.history, scope.ownerOf(call, true))
      // The same body as that of the first request, which was valid.
      return toBatchResponse(await replayOperations(call.body as Static<typeof RuleBatch>, past, commands))
    },
  )
}

function toBatchResponse(results: readonly RuleChangeResult[]): EndpointResponse {
  const data = results.map((result) => (result.type === 'rule' ? result.shown : { success: true }))
  const warnings = results.flatMap((result, operation) =>
    result.type === 'rule' ? result.warnings.map((warning) => ({ ...warning, operation })) : [],
  )
  return { status: 200, body: { data, ...(warnings.length > 0 && { warnings }) } }
}
