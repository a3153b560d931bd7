import { Nullable, StringEnum, Type } from '../../core/contract/index.ts'
import {
  AnyFields,
  Count,
  NextCursor,
  pageQuery,
  RuleOriginSchema,
  RuleTraceEntrySchema,
  TimeParameter,
  Timestamp,
  WarningSchema,
} from '../../core/http/schemas.ts'
import { SIGNALS } from './store/tables.ts'

const ANSWER_SIGNALS = Object.keys(SIGNALS)

export const nullableText = (description: string) => Nullable(Type.String(), { description })
const nullableCount = (description: string) => Nullable(Type.Integer({ minimum: 0 }), { description })

/** What `showError` returns. */
export const RecordedErrorSchema = Type.Object(
  {
    code: Type.String({ description: 'The error code (header x-error-code).' }),
    http_status: Type.Integer({ description: 'The HTTP status of the error.' }),
    message: Type.Optional(
      Type.String({
        description: "What happened. Missing for internal errors; without the provider's own words.",
      }),
    ),
    param: Type.Optional(Type.String({ description: 'Path of the invalid field.' })),
    meta: Type.Optional(
      Type.Object(
        {
          rule_id: Type.Optional(
            Type.Integer({
              format: 'int64',
              description: 'The firewall rule that blocked the request; negative for a draft.',
            }),
          ),
          origin: Type.Optional(RuleOriginSchema),
        },
        { description: 'Details for programs.' },
      ),
    ),
  },
  { $id: 'RecordedError', description: 'Why a request was refused or failed.' },
)

const AttemptSchema = Type.Object(
  {
    provider: Type.String({ description: 'The provider.' }),
    model: Type.String({ description: 'The model.' }),
    deployment: Type.Optional(Type.String({ description: 'The deployment, if the provider has any.' })),
    outcome: Type.String({ description: 'ok, cancelled, or an error code.' }),
    ms: Type.Integer({
      description: 'Milliseconds until the complete reply, the first events of a stream, or the error.',
    }),
    start_ms: Type.Optional(
      Type.Integer({ description: 'When it began, in milliseconds since the request arrived.' }),
    ),
  },
  { $id: 'Attempt', description: 'One call to a provider.' },
)

const RequestTimesSchema = Type.Object(
  {
    admitted_ms: Count('Until the caller and the limits by the headers were checked.'),
    read_ms: Count('Until the body had arrived and was parsed.'),
    decided_ms: nullableCount('Until rules, limits and the route were decided; null if it was refused.'),
  },
  {
    $id: 'RequestTimes',
    description: 'When the steps of a request ended, in milliseconds since it arrived.',
  },
)

const tokenCounts = {
  input: Count('Input tokens, including cached and cache_write.'),
  cached: Count('Input tokens that the provider read from its cache.'),
  cache_write: Count('Input tokens that the provider wrote to its cache.'),
  output: Count('Output tokens, including reasoning.'),
  reasoning: Count('Output tokens of reasoning.'),
}

export const TokensSchema = Type.Object(tokenCounts, { $id: 'Tokens', description: 'Tokens by type.' })

export const feedbackFields = {
  name: Type.String({ description: 'What the score is about, such as quality.' }),
  score: Type.Number({ description: 'From 0 (bad) to 1 (good).' }),
  comment: nullableText('The comment; null if there is none.'),
  given_by: Type.String({ description: 'Id of the key, of the subject of a token, or of the operator.' }),
  given_at: Timestamp('When it was given.'),
}

const RouterChoiceSchema = Type.Object(
  {
    version: Count('Version of the router.'),
    p: Nullable(Type.Number(), {
      description:
        'Probability that the chosen model answers well; null if the version does not know the model.',
    }),
    propensity: Nullable(Type.Number(), {
      description: 'Probability with which the model was drawn to explore; null if nothing was drawn.',
    }),
  },
  { $id: 'RouterChoice', description: 'What a learned router contributed to the choice of a model.' },
)

const RequestFeedbackSchema = Type.Object(feedbackFields, {
  $id: 'RequestFeedback',
  description: 'What somebody said about the reply to a request.',
})

export const RequestRecordSchema = Type.Object(
  {
    x_request_id: Type.String({ description: 'Id of the request.' }),
    time: Timestamp('When the request arrived.'),
    user_id: Count('Id of the user.'),
    key_id: Nullable(Type.String(), {
      description: 'Id of the API key; null for a token of an identity provider.',
    }),
    group_ids: Type.Array(Type.Integer({ format: 'int64' }), {
      description: 'Ids of the groups that the user was in.',
    }),
    endpoint: Type.String({ description: 'Path of the endpoint.' }),
    outcome: StringEnum(['answered', 'failed'], { description: 'Whether the request was answered.' }),
    status: Type.Integer({
      description: 'HTTP status; 499 if the client disconnected before there was a reply.',
    }),
    error: Type.Optional(RecordedErrorSchema),
    requested_model: nullableText('The model as the caller named it; null if it named none.'),
    routing_mode: nullableText('The routing mode; null if the request failed before routing.'),
    routing_reason: nullableText('Why the model was chosen, as a sentence.'),
    provider: nullableText('The provider that replied.'),
    model: nullableText('The model that replied.'),
    deployment: nullableText('The deployment that replied; null if the provider has none.'),
    attempts: Type.Array(AttemptSchema, { description: 'The calls to providers, in order.' }),
    times: Nullable(RequestTimesSchema, {
      description: 'When its steps ended; null if it was not read, and for copies for other models.',
    }),
    rules_position: Count('Log position of the rules that decided the request; 0 if it was not read.'),
    rule_trace: Type.Array(RuleTraceEntrySchema, { description: 'The outcome of every rule.' }),
    warnings: Type.Array(WarningSchema, { description: 'Warnings of the response.' }),
    tokens: Nullable(TokensSchema, { description: 'Tokens; null if no provider reported them.' }),
    cost_usd: Nullable(Type.Number(), {
      description: 'Cost in US dollars; null if the model has no price or no tokens were reported.',
    }),
    latency_ms: Count('Milliseconds until the response ended.'),
    first_token_ms: nullableCount('Milliseconds until the first event of a stream.'),
    stream: Type.Boolean({ description: 'Whether a stream was requested.' }),
    cache_hit: Type.Boolean({ description: 'Whether the cache replied.' }),
    aborted: Type.Boolean({ description: 'Whether the client disconnected before the response ended.' }),
    trace_id: nullableText('The W3C trace id; null if the plugin tracing is not listed.'),
    session_id: nullableText('The session that the client named; null if it named none.'),
    router: Nullable(RouterChoiceSchema, {
      description: 'The learned router that took part in the choice of the model; null if none did.',
    }),
    routing_arm: nullableText('The model that a split has drawn; null if there was no split.'),
    shadow_of: nullableText('Id of the request that this one is a copy of; null if it is none.'),
    signals: Type.Array(StringEnum(ANSWER_SIGNALS), {
      description:
        'What the reply and the next request say about the reply: cut_off (at a limit of its length), ' +
        'invalid_tool_call (arguments that are not JSON), schema_mismatch (not the form that was ' +
        'demanded), asked_again (the same prompt came again within a minute).',
    }),
    feedback: Type.Array(RequestFeedbackSchema, { description: 'What was said about the reply, by name.' }),
  },
  { $id: 'RequestRecord', description: 'What happened to a request. Contains no text of it.' },
)

export const RequestRecordPage = Type.Object(
  {
    data: Type.Array(RequestRecordSchema, { description: 'The requests, newest first.' }),
    next_cursor: NextCursor,
  },
  { $id: 'RequestRecordPage', description: 'A page of requests.' },
)

const PercentilesSchema = Type.Object(
  {
    p50: Count('Half of them took at most as long.'),
    p90: Count('90 % of them took at most as long.'),
    p99: Count('99 % of them took at most as long.'),
  },
  { $id: 'Percentiles', description: 'Milliseconds that shares of requests took at most.' },
)

export const RequestFiguresSchema = Type.Object(
  {
    requests: Count('Requests that pass the filters; 10,000 if there are more.'),
    is_truncated: Type.Boolean({
      description: 'Whether there are more requests: the figures are those of the newest 10,000.',
    }),
    errors: Count('Requests that were refused or failed.'),
    cost_usd: Type.Number({ description: 'Cost in US dollars, without requests of unknown cost.' }),
    unknown_costs: Count('Requests of unknown cost.'),
    latency_ms: Nullable(PercentilesSchema, {
      description: 'Until the response ended, of answered requests; null without any.',
    }),
    first_token_ms: Nullable(PercentilesSchema, {
      description: 'Until the first event of answered streams; null without any.',
    }),
  },
  { $id: 'RequestFigures', description: 'Figures of the requests that pass filters.' },
)

export const requestId = Type.String({
  minLength: 1,
  description: 'The x_request_id of a request.',
  examples: ['req_gGvBxwr2CTTZ4RYVqXhM0SkL'],
})

const textList = (description: string) => Type.Array(Type.String(), { description })

const RecordedReplySchema = Type.Object(
  {
    message: Nullable(AnyFields('The message of the assistant.'), {
      description: 'The message of the assistant, in the form of chat completions; null if it is omitted.',
    }),
    omission: Nullable(StringEnum(['refused', 'too_long', 'unmasked']), {
      description: 'Why the reply is not recorded; null if it is.',
    }),
    finish_reason: nullableText('Why the model stopped; null if it is not known.'),
    is_complete: Type.Boolean({ description: 'False if the reply failed, or its client disconnected.' }),
    left_out: textList('What the reply had beside this: media, provider_data.'),
  },
  { $id: 'RecordedReply', description: 'What is recorded of a reply.' },
)

export const RecordedPromptSchema = Type.Object(
  {
    x_request_id: Type.String({ description: 'Id of the request.' }),
    user_id: Count('Id of the user.'),
    recorded: StringEnum(['masked', 'full'], {
      description: 'Whether it is recorded as the firewall left it, or as it was received.',
    }),
    omission: Nullable(StringEnum(['refused', 'too_long', 'queue_full', 'no_key']), {
      description: 'Why the prompt is not recorded; null if it is.',
    }),
    request: Nullable(AnyFields('The request, in the form of chat completions.'), {
      description: 'The request, in the form of chat completions; null if it is not recorded.',
    }),
    preferences: textList('The models that the request preferred, best first.'),
    defaulted: textList('Fields that the endpoint filled in.'),
    left_out: textList('What the request had beside this: media, metadata, headers.'),
    headers: Type.Record(Type.String(), Type.String(), {
      description: 'The request headers that conditions of rules declare.',
    }),
    reply: Nullable(RecordedReplySchema, {
      description: 'The reply; null if there was none, or if ledger.record_replies was off.',
    }),
  },
  { $id: 'RecordedPrompt', description: 'What is recorded of the prompt of a request.' },
)

export const DeletedPrompts = Type.Object(
  { user_id: Count('Id of the user.'), deleted: Count('Prompts that were deleted.') },
  { $id: 'DeletedPrompts', description: 'The deleted prompts of a user.' },
)

export const REQUEST_PAGE = { default: 50, max: 1000 }

const text = (description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description, examples: [example] }))

export const userFilter = Type.Optional(
  Type.Integer({ minimum: 1, description: 'Id of the user.', examples: [1] }),
)

export const groupFilter = Type.Optional(
  Type.Integer({ minimum: 1, description: 'Id of a group that the user was in.', examples: [3] }),
)

export const keyFilter = text('Id of the API key.', 'key_gGvBxwr2CTTZ4RYVqXhM0SkL')

export const range = {
  since: Type.Optional(TimeParameter('Start of the range, inclusive')),
  until: Type.Optional(TimeParameter('End of the range, exclusive')),
}

export const sessionFilter = text('The session of an agent.', 'run-7')

export const scoreBound = (description: string) =>
  Type.Optional(Type.Number({ minimum: 0, maximum: 1, description, examples: [0.5] }))

export const exportFormat = Type.Optional(
  StringEnum(['json', 'jsonl', 'csv'], {
    default: 'json',
    description: 'json: one page. jsonl and csv: all that pass the filters, streamed, up to limit if given.',
  }),
)

export const ruleFilter = Type.Optional(
  Type.String({
    pattern: '^[^:]{1,50}:\\d{1,15}$',
    description: 'A rule that did something, as its kind and its id.',
    examples: ['firewall:12'],
  }),
)

/** Returns the rule that `ruleFilter` names. */
export function parseRuleFilter(rule: string): { readonly kind: string; readonly id: number } {
  const separator = rule.lastIndexOf(':')
  return { kind: rule.slice(0, separator), id: Number(rule.slice(separator + 1)) }
}

const requestFilters = {
  key: keyFilter,
  rule: ruleFilter,
  action: text('An action that a rule applied.', 'block'),
  status: Type.Optional(
    Type.Integer({ minimum: 100, maximum: 599, description: 'The HTTP status.', examples: [403] }),
  ),
  model: text('The model that replied.', 'gpt-4o'),
  provider: text('The provider that replied.', 'openai'),
  endpoint: text('The path of the endpoint.', '/v1/chat/completions'),
  session_id: sessionFilter,
  copies: Type.Optional(
    StringEnum(['exclude', 'include', 'only'], {
      default: 'exclude',
      description: 'Whether copies of requests for other models are listed, too.',
    }),
  ),
  min_score: scoreBound('The lowest score for quality. Requests without one do not pass.'),
  max_score: scoreBound('The highest score for quality. Requests without one do not pass.'),
  q: text(
    'A part of the code or of the message of the error. Capital letters from A to Z equal small ones.',
    'firewall',
  ),
  ...range,
}

const callerFilters = { user: userFilter, group: groupFilter }

const page = { format: exportFormat, ...pageQuery(REQUEST_PAGE, 'YmVmb3JlOjc') }

export const requestQuery = { ...requestFilters, ...page }

export const adminRequestQuery = { ...callerFilters, ...requestQuery }

export const figuresQuery = requestFilters

export const adminFiguresQuery = { ...callerFilters, ...requestFilters }
