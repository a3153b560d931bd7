import { Nullable, StringEnum, Type } from '../../core/contract/index.ts'
import { AnyFields, Count, RuleOriginSchema, Timestamp } from '../../core/http/schemas.ts'
import { ActorSchema } from '../../core/resources/changes.ts'
import { RULE_KINDS } from '../../projections/rules.ts'
import { CIRCUIT_STATES } from '../../providers/shared/model-breaker.ts'
import { adminRequestQuery, RequestRecordSchema } from '../ledger/index.ts'
import { RANGES } from './series.ts'

const latency = (share: string) =>
  Nullable(Type.Integer({ minimum: 0 }), {
    description: `${share} of a sample of the answered requests took at most as many milliseconds.`,
  })

const ruleHits = (what: string) =>
  Nullable(Type.Integer({ minimum: 0 }), {
    description: `${what} Null if some of the requests are no longer recorded: usage is kept for longer.`,
  })

const figures = {
  requests: Count('Requests.'),
  errors: Count('Requests that were refused or failed.'),
  blocks: ruleHits('Requests that a rule blocked.'),
  masks: ruleHits('Requests in which a rule masked text.'),
  cost_usd: Type.Number({ description: 'Cost in US dollars.' }),
  latency_p50_ms: latency('Half'),
  latency_p95_ms: latency('95 %'),
}

const RuleChange = Type.Object(
  {
    time: Timestamp('When the change was made.'),
    position: Count('Log position of the change.'),
    actor: ActorSchema,
    summary: Type.String({ description: 'What was changed, as a phrase.' }),
    reason: Type.Optional(Type.String({ description: 'Why the change was made. Missing if unknown.' })),
  },
  { $id: 'RuleChange', description: 'A change of a rule, a policy or a group.' },
)

export const OverviewSchema = Type.Object(
  {
    range: Nullable(StringEnum(RANGES), { description: 'The range; null if since was given.' }),
    since: Timestamp('Start of the range.'),
    until: Timestamp('End of the range.'),
    step_seconds: Count('Seconds between two points, the first of which is at since.'),
    totals: Type.Object(figures, { $id: 'OverviewFigures', description: 'The figures of the range.' }),
    series: Type.Array(
      Type.Object(
        { time: Timestamp('Start of the step.'), ...figures },
        { $id: 'OverviewPoint', description: 'The figures of one step.' },
      ),
      { description: 'All steps, oldest first.' },
    ),
    changes: Type.Array(RuleChange, {
      description: 'The newest changes of rules in the range, newest first.',
    }),
  },
  { $id: 'Overview', description: 'Requests over time, and changes of rules.' },
)

const { since, until } = adminRequestQuery

export const overviewQuery = {
  range: Type.Optional(
    StringEnum(RANGES, { default: '24h', description: 'Up to now: by minute for 1h, else by hour.' }),
  ),
  since,
  until,
}

export const AttentionSchema = Type.Object(
  {
    code: Type.String({ description: 'What it is, such as rule_never_matched or circuit_open.' }),
    severity: StringEnum(['error', 'warning', 'info'], { description: 'How urgent it is.' }),
    message: Type.String({ description: 'What it is, as a sentence.' }),
    rule: Type.Optional(
      Type.Object(
        {
          kind: StringEnum(RULE_KINDS, { description: 'Kind of the rule.' }),
          id: Count('Id of the rule.'),
          name: Type.String({ description: 'Name of the rule.' }),
          origin: RuleOriginSchema,
        },
        { $id: 'RuleOfPolicy', description: 'The rule of a policy that it is about.' },
      ),
    ),
    user_id: Type.Optional(Count('The user that it is about.')),
    group_id: Type.Optional(Count('The group that it is about.')),
    provider: Type.Optional(Type.String({ description: 'The provider that it is about.' })),
  },
  { $id: 'Attention', description: 'Something that an operator should know.' },
)

export const StatusSchema = Type.Object(
  {
    version: Type.String({ description: 'The version of the gateway.' }),
    providers: Type.Array(
      Type.Object(
        {
          provider: Type.String({ description: 'Id of the provider.' }),
          is_configured: Type.Boolean({ description: 'Whether requests can be sent to it.' }),
          state: StringEnum(CIRCUIT_STATES, {
            description: 'The worst state of the circuits of its models.',
          }),
          open_models: Type.Array(Type.String(), {
            description: 'Models whose circuit is open for everybody; "gpt-4o at west" for a deployment.',
          }),
          affected_callers: Count(
            'Circuits that are open for a single caller. 0 for operators with a scope.',
          ),
        },
        { $id: 'ProviderStatus', description: 'A provider, as this process sees it.' },
      ),
      { description: 'All providers.' },
    ),
    event_log: Type.Object(
      {
        state: Type.String({ description: 'following, or why the log cannot be followed.' }),
        position: Count('Log position up to which events are applied.'),
      },
      { description: 'The event log.' },
    ),
    ledger: Type.Object(
      { is_available: Type.Boolean({ description: 'Whether it can be read.' }) },
      { description: 'The request ledger.' },
    ),
    checkpoint: Nullable(
      Type.Object(
        {
          size: Count('Number of events that it covers.'),
          time: Timestamp('When it was signed.'),
          age_seconds: Count('Seconds since then.'),
        },
        { $id: 'CheckpointAge', description: 'The newest checkpoint.' },
      ),
      { description: 'The newest checkpoint; null before the first one.' },
    ),
    attention: Type.Array(AttentionSchema, { description: 'What needs attention, most urgent first.' }),
  },
  { $id: 'GatewayStatus', description: 'Providers, stores, and what needs attention.' },
)

const { user, key, status, model, provider, endpoint, action } = adminRequestQuery

export const liveQuery = {
  ...{ user, key, status, model, provider, endpoint, action },
  failed: Type.Optional(
    Type.Boolean({ description: 'Only requests that were refused or failed.', examples: [true] }),
  ),
}

export const LiveEvent = Type.Union(
  [
    RequestRecordSchema,
    Type.Object(
      { count: Count('Records that were not sent.') },
      { $id: 'DroppedRecords', description: 'event: dropped.' },
    ),
  ],
  { $id: 'LiveEvent', description: 'A record (event: request), or the number of records that were dropped.' },
)

const nullableRule = (description: string) => Nullable(AnyFields('A rule'), { description })

export const ExplainedRequest = Type.Object(
  {
    ...RequestRecordSchema.properties,
    rules: Type.Array(
      Type.Object(
        {
          kind: StringEnum(RULE_KINDS, { description: 'Kind of the rule.' }),
          id: Count('Id of the rule.'),
          origin: Type.Optional(RuleOriginSchema),
          state: StringEnum(['unchanged', 'changed', 'deleted'], { description: 'What became of it since.' }),
          as_decided: nullableRule('The rule as it decided; null if its history cannot be read.'),
          current: nullableRule('The rule as it is; null if it was deleted.'),
        },
        { $id: 'ExplainedRule', description: 'A rule that did something to the request, then and now.' },
      ),
      { description: 'The rules in rule_trace.' },
    ),
  },
  { $id: 'ExplainedRequest', description: 'What happened to a request, and the rules that decided.' },
)
