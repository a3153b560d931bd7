import { data, type JsonObject, Nullable, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { OpenObject } from '../../core/dialects/schema-types.ts'
import {
  AnyFields,
  Count,
  LogPoint,
  NextCursor,
  pageQuery,
  RuleOriginSchema,
  RuleTraceEntrySchema,
  WarningSchema,
} from '../../core/http/schemas.ts'
import { changeFields, eventFields, NoEffect } from '../../core/resources/changes.ts'
import { responsesRequestSchema } from '../../providers/shared/responses-format/request-schema.ts'
import { chatRequestSchema, routeRequestSchema } from '../dispatch/index.ts'
import { RecordedErrorSchema } from '../ledger/index.ts'
import { messagesRequestSchema } from '../messages/index.ts'

/** The kinds of subjects of a user whose changes are audited. */
export const AUDIT_SUBJECTS = ['routing', 'firewall', 'tool', 'key', 'user'] as const

/** Kinds of subjects that belong to no user. */
export const SHARED_SUBJECTS = ['policy', 'group'] as const

/** The kinds of entries in the audit trail of everything. */
export const LOG_ENTRY_KINDS = [
  ...AUDIT_SUBJECTS,
  ...SHARED_SUBJECTS,
  'operator',
  'access',
  'approval',
  'budget',
  'router',
  'tool_server',
  'log',
  'unknown',
] as const

/** The pages of `GET /v1/audit`. */
export const AUDIT_PAGE = { default: 50, max: 500 }

export const auditQuery = {
  since: Type.Optional(LogPoint('Start of the range, inclusive')),
  until: Type.Optional(LogPoint('End of the range, inclusive')),
  actor: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Id of the actor of the changes: of a key or an operator, or root, cli or system.',
      examples: ['key_gGvBxwr2CTTZ4RYVqXhM0SkL'],
    }),
  ),
  kind: Type.Optional(StringEnum(AUDIT_SUBJECTS, { description: 'Kind of the changed object.' })),
  ...pageQuery(AUDIT_PAGE, 'YmVsb3c6Nw'),
}

export const diffQuery = {
  from: LogPoint('Start of the comparison'),
  to: Type.Optional(LogPoint('End of the comparison, by default now')),
}

/** The body of `POST …/{id}/revert`. */
export const Revert = StrictObject(
  { revision: Type.Integer({ minimum: 1, description: 'The revision to restore.' }) },
  { $id: 'Revert', description: 'The revision of a rule to restore.' },
)

const ChangeSchema = Type.Object(
  {
    ...changeFields(AnyFields('The object')),
    kind: StringEnum([...AUDIT_SUBJECTS, ...SHARED_SUBJECTS, 'unknown'], {
      description: 'Kind of the changed object; unknown for changes of a newer version of the gateway.',
    }),
    id: Type.Union([Type.Integer({ format: 'int64' }), Type.String(), Type.Null()], {
      description: 'Id of the changed object: a string for keys, a number for all others.',
    }),
    reverted_to: Type.Optional(Type.Integer({ description: 'The revision that was restored.' })),
  },
  { $id: 'Change', description: 'One change to a rule, key or user.' },
)

export const ChangeList = data(Type.Array(ChangeSchema, { description: 'The changes, oldest first.' }))

export const ChangePage = Type.Object(
  { data: Type.Array(ChangeSchema, { description: 'The changes, newest first.' }), next_cursor: NextCursor },
  { $id: 'ChangePage', description: 'A page of changes.' },
)

const RuleDiff = Type.Object(
  {
    added: Type.Array(AnyFields('The rule'), { description: 'Rules that exist only at the end.' }),
    changed: Type.Array(
      Type.Object(
        {
          id: Count('Id of the rule.'),
          name: Type.String({ description: 'Name of the rule at the end.' }),
          changes: Type.Record(
            Type.String(),
            Type.Object(
              {
                from: Type.Unknown({ description: 'Value at the start.' }),
                to: Type.Unknown({ description: 'Value at the end.' }),
              },
              { description: 'The change of one field.' },
            ),
            { description: 'The changed fields by name.' },
          ),
        },
        { $id: 'ChangedRule', description: 'The differences of one rule.' },
      ),
      { description: 'Rules whose fields differ.' },
    ),
    removed: Type.Array(AnyFields('The rule'), { description: 'Rules that exist only at the start.' }),
  },
  { $id: 'RuleDiff', description: 'The differences between the rules of one kind.' },
)

export const DiffSchema = Type.Object(
  {
    from: Count('Log position of the start.'),
    to: Count('Log position of the end.'),
    routing: RuleDiff,
    firewall: RuleDiff,
    tool: RuleDiff,
  },
  { $id: 'Diff', description: 'The differences between rules at two points in the log.' },
)

const { since, until, actor, limit, cursor } = auditQuery

const idFilter = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, format: 'int64', description, examples: [7] }))

/** The query of `GET /admin/audit`. */
export const adminAuditQuery = {
  user: idFilter('Id of the user whom the changes are about.'),
  group: idFilter('Id of the group that the changes are about.'),
  policy: idFilter('Id of the policy that the changes are about.'),
  rule: idFilter('Id of the rule that was changed.'),
  actor,
  kind: Type.Optional(StringEnum(LOG_ENTRY_KINDS, { description: 'Kind of the entries.' })),
  since,
  until,
  q: Type.Optional(
    Type.String({
      minLength: 2,
      maxLength: 200,
      description: 'A text in the content, the reason, or the name or id of the actor; its case is ignored.',
      examples: ['ticket 4711'],
    }),
  ),
  objects: Type.Optional(
    Type.Boolean({ description: 'Adds the changed objects, before and after, to the entries of a page.' }),
  ),
  limit,
  cursor,
  format: Type.Optional(
    StringEnum(['json', 'jsonl', 'csv'], {
      default: 'json',
      description: 'json: a page, newest first. jsonl and csv: the whole range, oldest first.',
    }),
  ),
}

const LogEntrySchema = Type.Object(
  {
    ...eventFields,
    kind: StringEnum(LOG_ENTRY_KINDS, { description: 'Kind of the changed object, or access.' }),
    id: Type.Union([Type.Integer({ format: 'int64' }), Type.String(), Type.Null()], {
      description: 'Id of the changed object; null if it has none.',
    }),
    event: Type.String({ description: 'What happened, such as created, updated, signed_in or refused.' }),
    user_id: Nullable(Type.Integer({ format: 'int64' }), {
      description: 'The user whom it is about, if any.',
    }),
    group_id: Type.Optional(Count('The group that it is about.')),
    policy_id: Type.Optional(Count('The policy that it is about.')),
    no_effect: NoEffect,
    data: AnyFields('The content of the event.'),
    before: Type.Optional(
      Nullable(AnyFields('The object'), {
        description: 'The object before the change; null if it did not exist. Only if it was asked for.',
      }),
    ),
    after: Type.Optional(
      Nullable(AnyFields('The object'), {
        description: 'The object after the change; null if it was removed. Only if it was asked for.',
      }),
    ),
  },
  { $id: 'AuditEntry', description: 'An entry of the audit trail.' },
)

export const LogEntryPage = Type.Object(
  {
    data: Type.Array(LogEntrySchema, { description: 'The entries, newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'AuditEntryPage', description: 'A page of the audit trail.' },
)

export const Draft = OpenObject(
  {
    id: Type.Optional(
      Type.Integer({ minimum: 1, description: 'The stored rule to change. Missing for a new rule.' }),
    ),
  },
  {
    additionalProperties: true,
    $id: 'RuleDraft',
    description: 'The fields of a rule, as its own endpoints accept them.',
  },
)

/** The endpoints whose requests can be simulated. */
export const SIMULATED_ENDPOINTS = [
  ...(['chat', 'responses', 'messages', 'route'] as const),
  ...(['completions', 'embeddings', 'moderations'] as const),
] as const

const drafts = (kind: string) =>
  Type.Optional(Type.Array(Draft, { maxItems: 1000, description: `Drafts of ${kind} rules.` }))

export const DraftsByKind = StrictObject(
  { routing: drafts('routing'), firewall: drafts('firewall'), tool: drafts('tool') },
  { description: 'Rules that are applied as if they were stored.' },
)

/** Drafts of rules of an existing policy, which is then applied whatever its settings are. */
export const PolicyDraftSchema = StrictObject(
  {
    policy_id: Type.Integer({ minimum: 1, format: 'int64', description: 'Id of the policy.' }),
    ...DraftsByKind.properties,
  },
  { $id: 'PolicyDraft', description: 'Rules of a policy that are applied as if they were stored.' },
)

const simulationFields = {
  endpoint: Type.Optional(
    StringEnum(SIMULATED_ENDPOINTS, {
      description: 'The endpoint of the simulated request; by default derived from its fields.',
    }),
  ),
  as_of: Type.Optional(
    Type.Union([Type.String(), Type.Integer()], {
      description: 'Simulates with the rules as of a log position or an ISO 8601 time with a time zone.',
    }),
  ),
  key_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Id of a key of the user: decides as for a request with it.',
    }),
  ),
  request_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description:
        'Decides as for the request with this id: draws depend on it. If it is recorded, key_id and as_of ' +
        'are those of the record, unless they or drafts are given.',
    }),
  ),
}

export const toolCallFields = {
  server: Type.String({ minLength: 1, maxLength: 1000, description: 'Name of the tool server.' }),
  tool: Type.String({
    minLength: 1,
    maxLength: 10_000,
    description: 'Name of the tool; `prompt:` and the name of a prompt; `resource:` and a URI.',
  }),
  arguments: Type.Optional(
    Type.Unsafe<JsonObject>({ type: 'object', description: 'The arguments; by default none.' }),
  ),
  read: Type.Optional(
    Type.Array(Type.String({ maxLength: 1000 }), {
      maxItems: 1000,
      description: 'Names of the servers whose results the session has read.',
    }),
  ),
}

/** A call of a tool. */
export const SimulatedToolCall = StrictObject(
  {
    ...toolCallFields,
    server: Type.Optional(toolCallFields.server),
    tool: Type.Optional(toolCallFields.tool),
    revision: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'The definition that the server lists; by default the newest.',
      }),
    ),
  },
  {
    $id: 'SimulatedToolCall',
    description:
      'A call of a tool to simulate. With the request_id of a recorded call, what is missing is taken ' +
      'from the record.',
  },
)

/** The body of `POST /v1/simulate` about a call of a tool. */
export const ToolSimulationRequest = StrictObject(
  {
    tool_call: SimulatedToolCall,
    as_of: simulationFields.as_of,
    key_id: simulationFields.key_id,
    request_id: simulationFields.request_id,
    rules: Type.Optional(DraftsByKind),
  },
  { $id: 'ToolCallSimulation', description: 'A call of a tool to simulate.' },
)

/** The fields of `POST /v1/simulate` besides those of the request. */
export const SimulationFields = OpenObject({ ...simulationFields, rules: Type.Optional(DraftsByKind) })

/** The body of `POST /admin/simulate`. */
export const AdminSimulationRequest = StrictObject(
  {
    user_id: Type.Integer({ minimum: 1, format: 'int64', description: 'Id of the user.' }),
    request: Type.Optional(
      Type.Unsafe<JsonObject>({ type: 'object', description: 'The body of the simulated endpoint.' }),
    ),
    tool_call: Type.Optional(SimulatedToolCall),
    ...simulationFields,
    drafts: Type.Optional(
      StrictObject(
        {
          ...DraftsByKind.properties,
          policies: Type.Optional(
            Type.Array(PolicyDraftSchema, { maxItems: 100, description: 'Drafts of rules of policies.' }),
          ),
        },
        { $id: 'SimulationDrafts', description: 'Rules that are applied as if they were stored.' },
      ),
    ),
  },
  {
    $id: 'AdminSimulationRequest',
    description: 'An inference request of a user, or a call of a tool, to simulate.',
  },
)

function simulationOf({ properties, required }: JsonObject, name: string) {
  return Type.Unsafe<JsonObject>({
    type: 'object',
    required,
    properties: { ...Object(properties), ...Object(SimulationFields.properties) },
    $id: `${name}Simulation`,
    description: `A request to simulate, in the format of ${name}Request.`,
  })
}

/** The body of `POST /v1/simulate`. */
export const SimulationRequest = Type.Union(
  [
    simulationOf(chatRequestSchema, 'ChatCompletion'),
    simulationOf(responsesRequestSchema, 'ModelResponse'),
    simulationOf(messagesRequestSchema, 'Message'),
    simulationOf(routeRequestSchema, 'Route'),
    ToolSimulationRequest,
  ],
  { $id: 'SimulationRequest', description: 'An inference request, or a call of a tool, to simulate.' },
)

const messages = [{ role: 'user', content: 'Send the contract to ada@example.com' }]

const draft = {
  name: 'Draft',
  is_enabled: true,
  scope: 'prompt',
  type: 'substring',
  pattern: 'contract',
  action: 'block',
  priority: 1,
}

/** Complete bodies by name. */
export const simulationExamples = {
  now: { model: 'auto:cost', messages },
  past: { model: 'auto:cost', messages, as_of: '2026-03-01T09:30:00Z' },
  drafts: { input: 'Send the contract', endpoint: 'responses', rules: { firewall: [draft] } },
  tool: { tool_call: { server: 'files', tool: 'read', arguments: { path: '/etc/passwd' }, read: ['web'] } },
}

/** Complete bodies of `POST /admin/simulate` by name. */
export const adminSimulationExamples = {
  now: { user_id: 1, request: { model: 'auto:cost', messages } },
}

const nullableText = (description: string) => Nullable(Type.String(), { description })

const TargetSchema = Type.Object(
  {
    provider: Type.String({ description: 'The provider.' }),
    model: Type.String({ description: 'The model.' }),
  },
  { $id: 'Target', description: 'A model of a provider.' },
)

export const SimulationSchema = Type.Object(
  {
    outcome: StringEnum(['allowed', 'refused'], { description: 'Whether the request would be allowed.' }),
    blocked_by: Nullable(
      Type.Object(
        {
          rule_id: Type.Integer({ description: 'Id of the rule.' }),
          name: Type.String({ description: 'Name of the rule.' }),
          origin: Type.Optional(RuleOriginSchema),
        },
        { $id: 'BlockingRule', description: 'A firewall rule that blocks a request.' },
      ),
      { description: 'The firewall rule that would block the request, if any.' },
    ),
    error: Type.Optional(RecordedErrorSchema),
    request: Nullable(AnyFields('The request'), {
      description: 'The request in the format of chat completions, after masking; null if it is refused.',
    }),
    warnings: Type.Array(WarningSchema, { description: 'Warnings of the response.' }),
    rule_trace: Type.Array(RuleTraceEntrySchema, { description: 'The outcome of every rule.' }),
    routing_mode: nullableText('The routing mode; null if the request is refused.'),
    routing_reason: nullableText('Why the model would be chosen, as a sentence.'),
    routing_score: Nullable(Type.Number(), { description: 'Score of the best target, from 0 to 1.' }),
    routing_arm: nullableText('The model that a split would draw; null if none does.'),
    targets: Type.Array(TargetSchema, { description: 'The models that would be tried, in order.' }),
    shadow: Nullable(TargetSchema, {
      description: 'The model that would get a copy of the request; null if none would.',
    }),
    rules_position: Count('Log position of the rules that decide.'),
  },
  { $id: 'Simulation', description: 'How a request would be handled.' },
)
