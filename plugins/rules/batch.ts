import { GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import type { RuleKindName } from '../../projections/rules.ts'
import { prefixErrors } from './endpoints.ts'
import type { CreateRuleCommands, RuleChange, RuleCommands } from './rule-commands.ts'

/** The rule commands of each kind. */
export type RuleCommandSet = Readonly<Record<RuleKindName, CreateRuleCommands>>

interface Operation {
  readonly kind: RuleKindName
  readonly op: 'create' | 'update' | 'delete'
  readonly id?: number
  /** The expected revision of the rule; optional, like `If-Match`. */
  readonly revision?: number
  readonly data?: JsonObject
}

/** The body of `POST /v1/rules/batch`. */
export const batchSchema: JsonObject = {
  type: 'object',
  required: ['operations'],
  properties: {
    operations: {
      type: 'array',
      minItems: 1,
      maxItems: 1000,
      items: {
        type: 'object',
        required: ['kind', 'op'],
        additionalProperties: false,
        properties: {
          kind: { type: 'string', enum: ['routing', 'firewall'] },
          op: { type: 'string', enum: ['create', 'update', 'delete'] },
          id: { type: 'integer', minimum: 1 },
          revision: { type: 'integer', minimum: 1 },
          data: { type: 'object' },
        },
        allOf: [
          requireFor('create', ['data']),
          requireFor('update', ['id', 'data']),
          requireFor('delete', ['id']),
        ],
      },
    },
  },
}

function requireFor(op: Operation['op'], required: readonly string[]): JsonObject {
  return {
    if: { properties: { op: { const: op } } },
    // biome-ignore lint/suspicious/noThenProperty: a JSON schema keyword
    then: { required },
  }
}

const parseBatchBody = createLazyParser<{ operations: readonly Operation[] }>(batchSchema)

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
    return {
      ...change,
      prepare: () => prefixRejection(path, change),
      decide: (ruleId) => prefixErrors(path, () => change.decide(ruleId)),
    }
  })
}

async function prefixRejection(path: string, change: RuleChange): Promise<void> {
  try {
    await change.prepare?.()
  } catch (error) {
    prefixErrors(path, () => {
      throw error
    })
  }
}

function toChange({ op, id = 0, revision, data = {} }: Operation, commands: RuleCommands): RuleChange {
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
