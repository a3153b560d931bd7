import {
  GatewayError,
  type JsonObject,
  type Static,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { RULE_KINDS, type RuleKindName } from '../../projections/rules.ts'
import { prefixErrors } from './endpoints.ts'
import type { CreateRuleCommands, RuleChange, RuleCommands } from './rule-commands.ts'

/** The rule commands of each kind. */
export type RuleCommandSet = Readonly<Record<RuleKindName, CreateRuleCommands>>

const id = Type.Integer({ minimum: 1 })

const operation = StrictObject(
  {
    kind: StringEnum(RULE_KINDS),
    op: StringEnum(['create', 'update', 'delete']),
    id: Type.Optional(id),
    /** The expected revision of the rule, like `If-Match`. */
    revision: Type.Optional(id),
    data: Type.Optional(Type.Unsafe<JsonObject>({ type: 'object' })),
  },
  {
    allOf: [
      requireFor('create', ['data']),
      requireFor('update', ['id', 'data']),
      requireFor('delete', ['id']),
    ],
  },
)

function requireFor(op: string, required: readonly string[]): JsonObject {
  return {
    if: { properties: { op: { const: op } } },
    // biome-ignore lint/suspicious/noThenProperty: a JSON schema keyword
    then: { required },
  }
}

/** The body of `POST /v1/rules/batch`. */
export const batchSchema = Type.Object({
  operations: Type.Array(operation, { minItems: 1, maxItems: 1000 }),
})

const parseBatchBody = createLazyParser(batchSchema)

/** Parses the body of `POST /v1/rules/batch`. Throws a `GatewayError` that names the invalid operation. */
export function parseBatch(
  body: JsonObject,
  commands: RuleCommandSet,
  userId: number,
): readonly RuleChange[] {
  const { operations } = parseBatchBody(body)
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
  { op, id = 0, revision, data = {} }: Static<typeof operation>,
  commands: RuleCommands,
): RuleChange {
  switch (op) {
    case 'create':
      return commands.create(data)
    case 'update':
      return commands.update(id, data, revision ?? 'any')
    case 'delete':
      return commands.remove(id, revision ?? 'any')
    default:
      return op satisfies never
  }
}
