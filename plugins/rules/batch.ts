import {
  GatewayError,
  type JsonObject,
  type Static,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { AnyFields } from '../../core/http/schemas.ts'
import { RULE_KINDS, type RuleKindName } from '../../projections/rules.ts'
import { type CreateRuleCommands, prefixErrors, type RuleChange, type RuleCommands } from './rule-commands.ts'

/** The rule commands of each kind. */
export type RuleCommandSet = Readonly<Record<RuleKindName, CreateRuleCommands>>

const Operation = StrictObject(
  {
    kind: StringEnum(RULE_KINDS, { description: 'Kind of the rule.' }),
    op: StringEnum(['create', 'update', 'delete'], { description: 'The operation.' }),
    id: Type.Optional(Type.Integer({ minimum: 1, description: 'Id of the rule to update or delete.' })),
    revision: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The expected revision of the rule, like If-Match.' }),
    ),
    data: Type.Optional(AnyFields('The fields of the rule, as its own endpoints accept them.')),
  },
  {
    $id: 'RuleOperation',
    description: 'One change to one rule.',
    allOf: [
      requireFor('create', ['data']),
      requireFor('update', ['id', 'data']),
      requireFor('delete', ['id']),
    ],
  },
)

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

function requireFor(op: 'create' | 'update' | 'delete', required: readonly string[]): JsonObject {
  return {
    if: { properties: { op: { const: op } } },
    // biome-ignore lint/suspicious/noThenProperty: a JSON schema keyword
    then: { required },
  }
}

/** Converts operations to changes. Throws a `GatewayError` that names the invalid operation. */
export function toRuleChanges(
  { operations }: Static<typeof RuleBatch>,
  commands: RuleCommandSet,
  userId: number,
): readonly RuleChange[] {
  const seen = new Set<number>()
  return operations.map((operation, index) => {
    const path = `operations[${index}]`
    if (operation.id !== undefined && seen.has(operation.id)) {
      const message = `${path}: rule ${operation.id} is already in this batch. Use one operation per rule.`
      throw new GatewayError('invalid_value', message)
    }
    if (operation.id !== undefined) seen.add(operation.id)
    const change = prefixErrors(path, () => toChange(operation, commands[operation.kind](userId)))
    return { ...change, decide: (ruleId) => prefixErrors(path, () => change.decide(ruleId)) }
  })
}

function toChange(
  { op, id = 0, revision, data = {} }: Static<typeof Operation>,
  commands: RuleCommands,
): RuleChange {
  const expected = revision === undefined ? 'any' : [revision]
  switch (op) {
    case 'create':
      return commands.create(data)
    case 'update':
      return commands.update(id, data, expected)
    case 'delete':
      return commands.remove(id, expected)
    default:
      return op satisfies never
  }
}
