import {
  type ErrorCode,
  GatewayError,
  type JsonObject,
  type Rule,
  type RulesByKind,
  StrictObject,
  type TSchema,
  Type,
  type Warning,
} from '../../core/contract/index.ts'
import { createLazyTypeGuard } from '../../core/util/json-schema.ts'
import type {
  AnyRuleContent,
  RestoreFields,
  RevertFields,
  RuleContents,
  RuleEvent,
  RuleOwner,
} from '../../projections/events/rules.ts'
import { MAX_PRIORITY, type RuleKindName } from '../../projections/rules.ts'

/** What differs between the endpoints of the rule kinds. */
export interface RuleApi {
  /** Last part of the path of the rules, such as `routing-rules`. */
  readonly path: string
  /** Base name of the schemas and operations, such as `RoutingRule`. */
  readonly name: string
  /** A rule in responses. */
  readonly schema: TSchema
  /** Complete new rules by name. */
  readonly examples: Readonly<Record<string, JsonObject>>
  /** A complete change. */
  readonly change: JsonObject
  /** The error codes of bodies that are not valid. */
  readonly errors: readonly ErrorCode[]
}

/** The differences between the kinds of rules; commands and endpoints are shared. */
export interface RuleKind<Kind extends Rule = Rule, Content = AnyRuleContent> {
  readonly name: RuleKindName
  /** The fields that the owner of a rule sets, in the order of the documentation. */
  readonly fields: readonly RuleField[]
  readonly api: RuleApi
  /** Parses the body of a new rule. Throws a `GatewayError`. */
  parseNew(body: JsonObject): Content
  /** Parses the fields that are present. Throws a `GatewayError`. */
  parseChanges(body: JsonObject): Partial<Content>
  /** `restored` is given when a deleted rule is restored. */
  created(owner: RuleOwner, ruleId: number, content: Content, restored?: RestoreFields): RuleEvent
  updated(owner: RuleOwner, ruleId: number, changes: Partial<Content>, reverted?: RevertFields): RuleEvent
  deleted(owner: RuleOwner, ruleId: number): RuleEvent
  /** The rule as the API shows it. */
  show(rule: Kind): JsonObject
  /** Prepares `show`, `lint` and `check`, which must not hold the event loop. */
  prepare?(contents: readonly Content[], ownerId: number): Promise<void>
  /**
   * Throws a `GatewayError` for valid fields that make no usable rule together, or none that a policy may
   * have.
   */
  check?(content: Content, owner: RuleOwner): void
  /** Warnings about a valid rule, for its owner. */
  lint(rule: Kind): readonly Warning[]
}

/** All kinds of rules. */
export type RuleKinds = {
  readonly [Name in RuleKindName]: RuleKind<RulesByKind[Name], RuleContents[Name]>
}

/** A field that the owner of a rule sets. */
export interface RuleField {
  readonly name: string
  readonly required: boolean
  /** The JSON schema of the values. Complete once every plugin is set up. */
  schema(): JsonObject
  /** Returns the value to store, or the issues as sentences. */
  parse(value: unknown): ParsedField
}

export type ParsedField<Value = unknown> = { readonly value: Value } | { readonly issues: readonly string[] }

/** A field with a JSON schema. `description` completes the sentence "The … field must be …". */
export function schemaField(
  name: string,
  schema: JsonObject,
  description: string,
  required = true,
): RuleField {
  const isValid = createLazyTypeGuard<unknown>(schema)
  return {
    name,
    required,
    schema: () => ({ description: `Must be ${description}.`, ...schema }),
    parse: (value) =>
      isValid(value) ? { value } : { issues: [`The ${name} field must be ${description}.`] },
  }
}

/** The fields that all kinds of rules have (docs/api.md, "Limits"). */
export const nameField = schemaField(
  'name',
  Type.String({ minLength: 1, maxLength: 128 }),
  'a string of 1 to 128 characters',
)
export const enabledField = schemaField('is_enabled', Type.Boolean(), 'true or false')
export const priorityField = schemaField(
  'priority',
  Type.Integer({ minimum: -MAX_PRIORITY, maximum: MAX_PRIORITY }),
  `an integer from -${MAX_PRIORITY} to ${MAX_PRIORITY}`,
)

/** The owner of a rule as the API shows it. */
export function showOwner({ user_id, policy_id }: Rule): JsonObject {
  return policy_id === undefined ? { user_id } : { policy_id }
}

interface ParsedFields {
  readonly values: JsonObject
  /** The issues of each field, by name, in the order of `fields`; then those of unknown fields. */
  readonly issues: Readonly<Record<string, readonly string[]>>
  /** The first required field that is absent. */
  readonly missing: string | undefined
}

/** Fields that the server sets. They are ignored in bodies, because clients send back what they read. */
const READ_ONLY_FIELDS = ['id', 'user_id', 'policy_id', 'created_at', 'updated_at', 'pattern_error']

/**
 * Parses the fields of a body; a new rule needs all required ones. A field that does not exist is an issue:
 * it may be a misspelled condition.
 */
export function parseFields(fields: readonly RuleField[], body: JsonObject, isNew: boolean): ParsedFields {
  const values: Record<string, unknown> = {}
  const issues: Record<string, readonly string[]> = {}
  let missing: string | undefined
  for (const field of fields) {
    if (body[field.name] === undefined) {
      if (!isNew || !field.required) continue
      issues[field.name] = [`The ${field.name} field is required.`]
      missing ??= field.name
      continue
    }
    const result = field.parse(body[field.name])
    if ('value' in result) values[field.name] = result.value
    else issues[field.name] = result.issues
  }
  const names = fields.map(({ name }) => name)
  for (const name of Object.keys(body)) {
    if (names.includes(name) || READ_ONLY_FIELDS.includes(name)) continue
    issues[name] = [`${name} is not a field of the rule. Use ${names.join(', ')}.`]
  }
  return { values, issues, missing }
}

/** The same. Throws 400 with all issues of all fields; the message is the first one. */
export function parseValidFields(fields: readonly RuleField[], body: JsonObject, isNew: boolean): JsonObject {
  const { values, issues } = parseFields(fields, body, isNew)
  const [issue] = Object.values(issues).flat()
  if (issue !== undefined) throw new GatewayError('invalid_rule', issue, { errors: issues })
  return values
}

/** The JSON schema of the body of a new rule, or of changes to a rule, which require no field. */
export function ruleBodySchema(fields: readonly RuleField[], name: string, isNew: boolean): TSchema {
  const properties = fields.map((field) => {
    const schema = Type.Unsafe(field.schema())
    return [field.name, isNew && field.required ? schema : Type.Optional(schema)]
  })
  const id = `${name}${isNew ? 'Input' : 'Change'}`
  const description = isNew ? 'A new rule.' : 'The fields to change.'
  return StrictObject(Object.fromEntries(properties), { $id: id, description })
}
