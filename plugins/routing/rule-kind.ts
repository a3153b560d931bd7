import { parse as parseSafely } from '@hapi/bourne'
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
import { createLazyTypeGuard } from '../../core/util/json-schema.ts'
import type { RoutingContent } from '../../projections/events/rules.ts'
import {
  enabledField,
  nameField,
  type ParsedField,
  parseFields,
  priorityField,
  type RuleField,
  type RuleKind,
  showOwner,
} from '../rules/index.ts'
import { routingRuleApi } from './schemas.ts'

/** Routing rules: fields, validation and events (docs/api.md, "Routing rules"). */
export function createRoutingRuleKind({
  conditions,
  actions,
}: OperatorRegistry): RuleKind<RoutingRule, RoutingContent> {
  const fields = [
    nameField,
    enabledField,
    priorityField,
    documentField('match_json', 'condition', conditions),
    documentField('action_json', 'action', actions),
  ]
  return {
    name: 'routing',
    api: routingRuleApi,
    fields,
    // The cast is safe: every required field is present, and its value was parsed.
    parseNew: (body) => parseContent(fields, body, true) as unknown as RoutingContent,
    parseChanges: (body) => parseContent(fields, body, false),
    created: (owner, ruleId, content, more) => ({
      type: 'RoutingRuleCreated',
      data: { ...owner, ruleId, content, ...more },
    }),
    updated: (owner, ruleId, changes, more) => ({
      type: 'RoutingRuleUpdated',
      data: { ...owner, ruleId, changes, ...more },
    }),
    deleted: (owner, ruleId) => ({ type: 'RoutingRuleDeleted', data: { ...owner, ruleId } }),
    show(rule) {
      const { id, name, is_enabled, priority, match_json, action_json, created_at, updated_at } = rule
      const fields = { name, is_enabled, priority, match_json, action_json }
      return { id, ...showOwner(rule), ...fields, created_at, updated_at }
    },
    lint: (rule) => lintConditions(rule, conditions),
  }
}

/** Throws with all issues of all fields: 400 if a field of a new rule is missing, otherwise 422. */
function parseContent(fields: readonly RuleField[], body: JsonObject, isNew: boolean): JsonObject {
  const { values, issues, missing } = parseFields(fields, body, isNew)
  if (missing !== undefined)
    throw new GatewayError('invalid_rule', `The ${missing} field is required.`, { errors: issues })
  const count = Object.values(issues).flat().length
  if (count === 0) return values
  const message = `The rule has ${count === 1 ? '1 issue' : `${count} issues`}, listed under errors.`
  throw new GatewayError('validation_error', message, { errors: issues })
}

type Operators = ReadonlyMap<string, Condition | Action>

/** A field that holds an object, or a string with the JSON of one (docs/api.md, "Routing rules"). */
function documentField(name: string, kind: 'condition' | 'action', operators: Operators): RuleField {
  const parseDocument = createDocumentParser(kind, operators)
  return {
    name,
    required: true,
    schema: () => ({
      description: `The ${kind}s: an object, or a string that contains its JSON.`,
      anyOf: [
        documentSchema(operators),
        {
          type: 'string',
          contentMediaType: 'application/json',
          pattern: '^\\s*\\{[\\s\\S]*\\}\\s*$',
        },
      ],
    }),
    parse(value) {
      const document = typeof value === 'string' ? parseDocumentText(value) : value
      if (isJsonObject(document)) return parseDocument(document)
      return { issues: [`The ${name} field must be an object or a string that contains a JSON object.`] }
    },
  }
}

/** Undefined if the text is not JSON. Like bodies, it must not contain the key `__proto__`. */
function parseDocumentText(text: string): unknown {
  try {
    return parseSafely(text)
  } catch {
    return undefined
  }
}

/**
 * Creates a parser for `match_json` or `action_json`. It reports every issue. An unknown key is an issue: a
 * rule with a misspelled condition would match every request.
 */
function createDocumentParser(kind: 'condition' | 'action', operators: Operators) {
  const typeGuards = new Map<string, (value: unknown) => boolean>()

  function typeGuardOf(operator: Condition | Action): (value: unknown) => boolean {
    const typeGuard = typeGuards.get(operator.name) ?? createLazyTypeGuard(operator.schema)
    typeGuards.set(operator.name, typeGuard)
    return typeGuard
  }

  return (document: JsonObject): ParsedField<JsonObject> => {
    const issues: string[] = []
    const parsed: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(document)) {
      const operator = operators.get(name)
      if (operator === undefined)
        issues.push(`${name} is not a known ${kind}. Use one of ${[...operators.keys()].join(', ')}.`)
      else if (!typeGuardOf(operator)(value)) issues.push(`${name} must be ${operator.description}.`)
      else {
        const issue = operator.findIssue?.(value)
        if (issue !== undefined) issues.push(issue)
        parsed[name] = operator.normalize ? operator.normalize(value) : value
      }
    }
    return issues.length > 0 ? { issues } : { value: parsed }
  }
}

/** The JSON schema of a document with these operators. */
function documentSchema(operators: Operators): JsonObject {
  const properties = [...operators.values()].map(({ name, description, schema }) => [
    name,
    { description, ...schema },
  ])
  return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) }
}

function lintConditions(rule: RoutingRule, conditions: OperatorRegistry['conditions']): readonly Warning[] {
  return Object.entries(rule.match_json).flatMap(([name, value]) => {
    const message = conditions.get(name)?.lint?.(value)
    return message === undefined ? [] : [{ code: 'condition_never_matches', message }]
  })
}
