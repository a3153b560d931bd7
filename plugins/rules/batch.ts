import {
  GatewayError,
  type JsonObject,
  type Static,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { Variants } from '../../core/dialects/schema-types.ts'
import { anyRevision, onlyRevision, type Precondition } from '../../core/http/conditional.ts'
import { AnyFields } from '../../core/http/schemas.ts'
import { mapInSlices } from '../../core/util/cooperative-yield.ts'
import { RULE_KINDS, type RuleKindName } from '../../projections/rules.ts'
import { createdRuleIds, type PastRuleChange, pastCommands } from './replay.ts'
import {
  type CreateRuleCommands,
  prefixErrors,
  prefixRejection,
  type RuleChange,
  type RuleChangeResult,
  type RuleCommands,
} from './rule-commands.ts'

/** The rule commands of each kind. */
export type RuleCommandSet = Readonly<Record<RuleKindName, CreateRuleCommands>>

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
export const RuleBatch = StrictObject(
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
export async function toRuleChanges(
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
export async function replayOperations(
  { operations }: Static<typeof RuleBatch>,
  past: PastRuleChange,
  commands: RuleCommandSet,
): Promise<readonly RuleChangeResult[]> {
  const created = { routing: createdRuleIds(past, 'routing'), firewall: createdRuleIds(past, 'firewall') }
  const shown = {
    routing: await pastCommands(past, commands.routing),
    firewall: await pastCommands(past, commands.firewall),
  }
  const results: RuleChangeResult[] = []
  for (const operation of operations) {
    const ruleId = operation.op === 'create' ? (created[operation.kind].shift() ?? 0) : operation.id
    results.push(operation.op === 'delete' ? { type: 'removed' } : shown[operation.kind].show(ruleId))
  }
  return results
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
