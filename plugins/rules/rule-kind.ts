import type { FirewallRule, JsonObject, RoutingRule, Warning } from '../../core/contract/index.ts'
import type { Reverting, Reviving, RuleEvent } from '../../core/events/domain-events.ts'
import { createLazyTypeGuard } from '../../core/util/json-schema.ts'
import type { RuleKindName } from '../../projections/rules.ts'

/** What the two kinds of rules differ in; commands and endpoints are the same for both. */
export interface RuleKind<Rule extends RoutingRule | FirewallRule, Content> {
  readonly name: RuleKindName
  /** What the owner of a rule sets, in table order. */
  readonly fields: readonly RuleField[]
  /** Throws a `GatewayError` in the kind's own style of validation. */
  parseNew(body: JsonObject): Content
  /** Only the given fields. */
  parseChanges(body: JsonObject): Partial<Content>
  /** `reviving` when the rule was deleted and comes back. */
  created(userId: number, ruleId: number, content: Content, reviving?: Reviving): RuleEvent
  updated(userId: number, ruleId: number, changes: Partial<Content>, reverting?: Reverting): RuleEvent
  deleted(userId: number, ruleId: number): RuleEvent
  /** The rule as the API shows it. */
  show(rule: Rule): JsonObject
  /** What the owner should know about a rule that was accepted. */
  lint(rule: Rule): readonly Warning[]
}

/** A field that the owner of a rule sets. `read` gives its value as it is stored, or the faults in it. */
export interface RuleField {
  readonly name: string
  readonly required: boolean
  /** JSON schema of the values; complete once every plugin is set up. */
  schema(): JsonObject
  parse(value: unknown): { value: unknown } | { faults: readonly string[] }
}

/** A field whose values a JSON schema describes; `says` completes the sentence "The … field must be …". */
export function schemaField(
  name: string,
  schema: JsonObject,
  description: string,
  required = true,
): RuleField {
  const check = createLazyTypeGuard<unknown>(schema)
  return {
    name,
    required,
    schema: () => ({ description: description, ...schema }),
    parse: (value) => (check(value) ? { value } : { faults: [`The ${name} field must be ${description}.`] }),
  }
}

/** The fields both rule kinds start with, and the one in their middle (docs/api.md, "Limits"). */
export const nameField = schemaField(
  'name',
  { type: 'string', minLength: 1, maxLength: 128 },
  'a string of 1 to 128 characters',
)
export const enabledField = schemaField('is_enabled', { type: 'boolean' }, 'true or false')
export const priorityField = schemaField(
  'priority',
  { type: 'integer', minimum: -1000, maximum: 1000 },
  'an integer from -1000 to 1000',
)

interface ReadFields {
  readonly values: JsonObject
  /** By field, for every field that is present and wrong. */
  readonly faults: Readonly<Record<string, readonly string[]>>
  /** Required fields that are absent, in table order. */
  readonly missing: readonly string[]
}

/** Reads the known fields of a body; unknown ones are ignored, for clients send back what they read. */
export function parseFields(fields: readonly RuleField[], body: JsonObject): ReadFields {
  const values: Record<string, unknown> = {}
  const faults: Record<string, readonly string[]> = {}
  for (const field of fields) {
    if (body[field.name] === undefined) continue
    const result = field.parse(body[field.name])
    if ('value' in result) values[field.name] = result.value
    else faults[field.name] = result.faults
  }
  const missing = fields.filter((field) => field.required && body[field.name] === undefined)
  return { values, faults, missing: missing.map((field) => field.name) }
}

/** JSON schema of a body: that of a new rule, or that of changes to one, in which nothing is required. */
export function ruleBodySchema(fields: readonly RuleField[], isNew: boolean): JsonObject {
  const required = fields.filter((field) => field.required).map(({ name }) => name)
  const properties = Object.fromEntries(fields.map((field) => [field.name, field.schema()]))
  return { type: 'object', ...(isNew && { required }), properties }
}
