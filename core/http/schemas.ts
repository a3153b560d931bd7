import { NAMED_SCOPES, Nullable, StrictObject, StringEnum, type TSchema, Type } from '../contract/index.ts'

// Schemas that the endpoints of several features share.

/** A time in responses. */
export function Timestamp(description: string) {
  return Type.String({ format: 'date-time', description: `${description} ISO 8601, UTC.` })
}

/** A count, an id or a position: an integer that is not negative. */
export function Count(description: string) {
  return Type.Integer({ minimum: 0, format: 'int64', description })
}

/** An object whose fields depend on its content. */
export function AnyFields(description: string) {
  return Type.Record(Type.String(), Type.Unknown(), { description })
}

/** A date with an optional time. */
const TIME = '^\\d{4}-\\d{2}-\\d{2}([Tt]\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?([Zz]|[+-]\\d{2}:\\d{2}))?$'

/** A log position, or a time. */
const LOG_POINT = `^(\\d{1,15}|${TIME.slice(1, -1)})$`

/** A query or body parameter for a point in the event log. */
export function LogPoint(description: string) {
  return Type.String({
    minLength: 1,
    description: `${description}: a log position or an ISO 8601 time with a time zone.`,
    examples: ['2026-03-01T09:30:00Z'],
    'x-documented': { pattern: LOG_POINT },
  })
}

/** A query parameter for a time. */
export function TimeParameter(description: string) {
  return Type.String({
    minLength: 1,
    description: `${description}: an ISO 8601 time with a time zone, or a date.`,
    examples: ['2026-03-01T09:30:00Z'],
    'x-documented': { pattern: TIME },
  })
}

/** The next page of a list. */
export const NextCursor = Nullable(Type.String(), {
  description: 'The cursor of the next page; null on the last page.',
})

/** The query parameters of a list in pages. Without a default, it has all entries. */
export function pageQuery(
  limits: { readonly default?: number; readonly max: number },
  cursorExample: string,
) {
  return {
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.max,
        ...(limits.default !== undefined && { default: limits.default }),
        description: `Maximum number of entries${limits.default === undefined ? '; by default all' : ''}.`,
        examples: [limits.default ?? limits.max],
      }),
    ),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The next_cursor of the previous page.',
        examples: [cursorExample],
      }),
    ),
  }
}

export const Success = Type.Object(
  { success: Type.Boolean({ description: 'Always true.' }) },
  { $id: 'Success', description: 'The change was made.' },
)

export const WarningSchema = Type.Object(
  {
    code: Type.String({ description: 'Kind of warning, such as firewall, routing or plan.' }),
    message: Type.String({ description: 'The warning as a sentence.' }),
    scope: Type.Optional(
      StringEnum(NAMED_SCOPES, { description: 'Present if it is about something other than the request.' }),
    ),
  },
  { $id: 'Warning', description: 'Something that the caller should know about a successful request.' },
)

export const RuleOriginSchema = Type.Object(
  {
    type: StringEnum(['policy'], { description: 'Always policy.' }),
    id: Type.Integer({ format: 'int64', description: 'Id of the policy.' }),
    name: Type.String({ description: 'Name of the policy.' }),
  },
  { $id: 'RuleOrigin', description: 'The policy that a rule belongs to.' },
)

export const RuleTraceEntrySchema = Type.Object(
  {
    kind: Type.String({ description: 'Kind of the rule: routing, firewall, or a kind of a plugin.' }),
    rule_id: Type.Integer({ format: 'int64', description: 'Id of the rule; negative for a draft.' }),
    name: Type.String({ description: 'Name of the rule.' }),
    action: Type.String({ description: 'The action, such as set_model or block.' }),
    outcome: StringEnum(['applied', 'skipped'], { description: 'Whether the action was applied.' }),
    origin: Type.Optional(RuleOriginSchema),
    scope: Type.Optional(
      StringEnum(NAMED_SCOPES, {
        description: 'Present if the rule inspected something other than the request.',
      }),
    ),
    reason: Type.Optional(Type.String({ description: 'Why the action was skipped, or what applied it.' })),
    arm: Type.Optional(
      Type.String({
        description:
          'What an action chose for the request, such as the model that a split drew. Of require: the ' +
          'requirement.',
      }),
    ),
    excluded: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'Of require: models that could have served the request and were excluded, the first ones.',
      }),
    ),
    excluded_count: Type.Optional(
      Type.Integer({ minimum: 1, description: 'How many models were excluded.' }),
    ),
  },
  { $id: 'RuleTraceEntry', description: 'The outcome of one action of one rule.' },
)

/** The `{data: …}` envelope, with warnings about the result. */
export function dataWithWarnings<Schema extends TSchema>(schema: Schema) {
  const warnings = Type.Array(WarningSchema, { description: 'Warnings; missing if there are none.' })
  const $id = `${schema.$id}Result`
  return Type.Object({ data: schema, warnings: Type.Optional(warnings) }, { $id, description: 'The result.' })
}

/** The body of requests whose range and reason are elsewhere, where they would be ignored in the body. */
export const NoFields = Type.Optional(
  StrictObject({}, { $id: 'NoFields', description: 'An empty object, or no body.' }),
)
