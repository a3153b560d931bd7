import {
  type Action,
  type Condition,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type OperatorRegistry,
  type RoutingRule,
  type Warning,
} from '../../core/contract/index.ts'
import type { RoutingContent } from '../../core/events/domain-events.ts'
import { createLazyTypeGuard } from '../../core/util/json-schema.ts'
import {
  enabledField,
  nameField,
  parseFields,
  priorityField,
  type RuleField,
  type RuleKind,
} from '../rules/rule-kind.ts'

/** Routing rules: fields, validation and events (docs/api.md, "Routing rules"). */
export function createRoutingRuleKind({
  conditions,
  actions,
}: OperatorRegistry): RuleKind<RoutingRule, RoutingContent> {
  const fields = [
    nameField,
    enabledField,
    priorityField,
    documentField('match_json', 'a condition', conditions),
    documentField('action_json', 'an action', actions),
  ]
  return {
    name: 'routing',
    fields,
    parseNew(body) {
      const missing = parseFields(fields, body).missing[0]
      if (missing !== undefined) throw new GatewayError('invalid_rule', `The ${missing} field is required.`)
      // The cast is safe: every required field is there and was read.
      return read(fields, body) as unknown as RoutingContent
    },
    parseChanges: (body) => read(fields, body),
    created: (userId, ruleId, content, more) => ({
      type: 'RoutingRuleCreated',
      data: { userId, ruleId, content, ...more },
    }),
    updated: (userId, ruleId, changes, more) => ({
      type: 'RoutingRuleUpdated',
      data: { userId, ruleId, changes, ...more },
    }),
    deleted: (userId, ruleId) => ({ type: 'RoutingRuleDeleted', data: { userId, ruleId } }),
    show: ({ id, user_id, name, is_enabled, priority, match_json, action_json, created_at, updated_at }) => ({
      id,
      user_id,
      name,
      is_enabled,
      priority,
      match_json,
      action_json,
      created_at,
      updated_at,
    }),
    lint: (rule) => remarkOn(rule, conditions),
  }
}

/** The given fields; 422 with all faults of all fields. */
function read(fields: readonly RuleField[], body: JsonObject): JsonObject {
  const { values, faults } = parseFields(fields, body)
  const count = Object.values(faults).flat().length
  if (count === 0) return values
  throw new GatewayError(
    'validation_failed',
    `The rule has ${count === 1 ? 'a fault' : `${count} faults`}.`,
    {
      errors: faults,
    },
  )
}

/** A field that holds an object, or a text that is the JSON of one (docs/api.md, "Routing rules"). */
function documentField(
  name: string,
  kind: string,
  words: ReadonlyMap<string, Condition | Action>,
): RuleField {
  const readWords = createDocumentReader(kind, words)
  return {
    name,
    required: true,
    schema: () => ({
      anyOf: [documentSchema(words), { type: 'string', contentMediaType: 'application/json' }],
    }),
    parse(value) {
      const document = typeof value === 'string' ? parse(value) : value
      if (isJsonObject(document)) return readWords(document)
      return { faults: [`The ${name} field must be an object, or a string that holds the JSON of one.`] }
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function remarkOn(rule: RoutingRule, conditions: OperatorRegistry['conditions']): readonly Warning[] {
  return Object.entries(rule.match_json).flatMap(([name, value]) => {
    const message = conditions.get(name)?.lint?.(value)
    return message === undefined ? [] : [{ code: 'condition_never_matches', message }]
  })
}

type ReadDocument = { readonly value: JsonObject } | { readonly faults: readonly string[] }

/**
 * Reads `match_json` or `action_json` by the words that there are: the document as it is stored, or all that is wrong
 * with it. An unknown word is a fault: a misspelt condition would match everything.
 */
function createDocumentReader(kind: string, words: ReadonlyMap<string, Condition | Action>) {
  const checks = new Map<string, (value: unknown) => boolean>()

  function checkOf(word: Condition | Action): (value: unknown) => boolean {
    const check = checks.get(word.name) ?? createLazyTypeGuard(word.schema)
    checks.set(word.name, check)
    return check
  }

  return (document: JsonObject): ReadDocument => {
    const faults: string[] = []
    const value: Record<string, unknown> = {}
    for (const [name, given] of Object.entries(document)) {
      const word = words.get(name)
      if (word === undefined)
        faults.push(`${name} is not ${kind}. Known are ${[...words.keys()].join(', ')}.`)
      else if (!checkOf(word)(given)) faults.push(`${name} must be ${word.description}.`)
      else value[name] = word.normalise ? word.normalise(given) : given
    }
    return faults.length > 0 ? { faults } : { value }
  }
}

/** JSON schema of the documents that these words make. */
function documentSchema(words: ReadonlyMap<string, Condition | Action>): JsonObject {
  const properties = [...words.values()].map(({ name, description, schema }) => [
    name,
    { description: description, ...schema },
  ])
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) }
}
