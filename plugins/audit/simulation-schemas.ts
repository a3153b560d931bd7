import { type JsonObject, Nullable, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { OpenObject } from '../../core/dialects/schema-types.ts'
import {
  AnyFields,
  Count,
  RuleOriginSchema,
  RuleTraceEntrySchema,
  WarningSchema,
} from '../../core/http/schemas.ts'
import { responsesRequestSchema } from '../../providers/shared/responses-format/request-schema.ts'
import { chatRequestSchema, routeRequestSchema } from '../dispatch/index.ts'
import { RecordedErrorSchema } from '../ledger/index.ts'
import { messagesRequestSchema } from '../messages/index.ts'

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
  { routing: drafts('routing'), firewall: drafts('firewall') },
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

/** The fields of `POST /v1/simulate` besides those of the request. */
export const SimulationFields = OpenObject({ ...simulationFields, rules: Type.Optional(DraftsByKind) })

/** The body of `POST /admin/simulate`. */
export const AdminSimulationRequest = StrictObject(
  {
    user_id: Type.Integer({ minimum: 1, format: 'int64', description: 'Id of the user.' }),
    request: Type.Unsafe<JsonObject>({ type: 'object', description: 'The body of the simulated endpoint.' }),
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
  { $id: 'AdminSimulationRequest', description: 'An inference request of a user to simulate.' },
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
  ],
  { $id: 'SimulationRequest', description: 'An inference request to simulate.' },
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
