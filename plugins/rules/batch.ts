import { GatewayError, type JsonObject } from '../../core/contract/index.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import type { RuleKindName } from '../../projections/rules.ts'
import { prefixErrors } from './endpoints.ts'
import type { CreateRuleCommands, RuleChange } from './rule-commands.ts'

/** A desk for each kind of rules. */
export type RuleCommandSet = Readonly<Record<RuleKindName, CreateRuleCommands>>

interface Operation {
  readonly kind: RuleKindName
  readonly op: 'create' | 'update' | 'delete'
  readonly id?: number
  /** The revision that the rule must be at; optional, as `If-Match` is. */
  readonly revision?: number
  readonly data?: JsonObject
}

const needs = (op: string, ...required: string[]) => ({
  if: { properties: { op: { const: op } } },
  // biome-ignore lint/suspicious/noThenProperty: a JSON schema keyword
  then: { required },
})

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
        allOf: [needs('create', 'data'), needs('update', 'id', 'data'), needs('delete', 'id')],
      },
    },
  },
}

const readBatch = createLazyParser<{ operations: readonly Operation[] }>(batchSchema)

/** Reads the body of `POST /v1/rules/batch`; every error names the operation that it is in. */
export function parseBatch(body: JsonObject, desks: RuleCommandSet, userId: number): readonly RuleChange[] {
  const { operations } = readBatch(body)
  const seen = new Set<number>()
  return operations.map((operation, place) => {
    const where = `operations[${place}]`
    if (operation.id !== undefined && seen.has(operation.id)) {
      throw new GatewayError('invalid_value', `${where}: rule ${operation.id} is in the batch already.`)
    }
    if (operation.id !== undefined) seen.add(operation.id)
    const change = prefixErrors(where, () => readChange(operation, desks[operation.kind], userId))
    return { ...change, decide: (ruleId) => prefixErrors(where, () => change.decide(ruleId)) }
  })
}

function readChange(
  { op, id = 0, revision, data = {} }: Operation,
  openDesk: CreateRuleCommands,
  userId: number,
): RuleChange {
  const desk = openDesk(userId)
  switch (op) {
    case 'create':
      return desk.create(data)
    case 'update':
      return desk.update(id, data, revision ?? 'any')
    case 'delete':
      return desk.remove(id, revision ?? 'any')
    default:
      return op satisfies never
  }
}
