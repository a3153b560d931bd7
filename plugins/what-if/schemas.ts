import { Nullable, type Static, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { Count, RuleTraceEntrySchema, Timestamp } from '../../core/http/schemas.ts'
import { RULE_KINDS } from '../../projections/rules.ts'
import { adminRequestQuery, RecordedErrorSchema } from '../ledger/index.ts'
import { RulesFileSchema } from '../rules-file/index.ts'
import { ToolCallsReportSchema } from './tool-call-schemas.ts'

export const WHAT_IF_LIMIT = { default: 1000, max: 10_000 }

const { format: _format, cursor: _cursor, limit: _limit, ...filters } = adminRequestQuery

/** The filters of `GET /admin/requests`. */
export const whatIfQuery = {
  ...filters,
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: WHAT_IF_LIMIT.max,
      default: WHAT_IF_LIMIT.default,
      description: 'Maximum number of requests; the newest are evaluated.',
    }),
  ),
}

export const WhatIfInput = StrictObject(
  {
    file: RulesFileSchema,
    examples: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 100, default: 10, description: 'Maximum number of examples.' }),
    ),
  },
  { $id: 'WhatIfInput', description: 'Drafts in the form of a rules file.' },
)

const nullableText = (description: string) => Nullable(Type.String(), { description })

const ReplyDecision = Type.Object(
  {
    outcome: StringEnum(['allowed', 'refused'], { description: 'Whether the reply would be sent.' }),
    error: Type.Optional(RecordedErrorSchema),
    text: nullableText('The text of the reply as it would be sent; null if it is refused.'),
  },
  { $id: 'WhatIfReply', description: 'How the stored reply of a request would be handled.' },
)

const DecisionSchema = Type.Object(
  {
    outcome: StringEnum(['allowed', 'refused'], { description: 'Whether the request would be allowed.' }),
    error: Type.Optional(RecordedErrorSchema),
    text: nullableText('The last text of the user as it would be sent; null if the request is refused.'),
    provider: nullableText('The provider that would be asked first.'),
    model: nullableText('The model that would be asked first.'),
    routing_mode: nullableText('The routing mode.'),
    shadow: nullableText('The model that would get a copy, as provider/model; null if none would.'),
    reply: Type.Optional(ReplyDecision),
    rule_trace: Type.Array(RuleTraceEntrySchema, { description: 'The outcome of every rule.' }),
  },
  { $id: 'WhatIfDecision', description: 'How a request would be handled.' },
)

const Outcomes = Type.Object(
  {
    allowed: Count('Requests that would be allowed.'),
    refused: Count('Requests that would be refused.'),
    masked: Count('Allowed requests in which text would be masked.'),
    warned: Count('Allowed requests with a warning of a firewall rule.'),
  },
  { $id: 'WhatIfOutcomes', description: 'What would happen to the requests.' },
)

/** Texts: `decision.ts` has the names. */
const effects = {
  blocked: Count('Refused with the drafts only.'),
  unblocked: Count('Refused without the drafts only.'),
  blocked_otherwise: Count('Refused for another reason.'),
  masked: Count('Masked by a further rule.'),
  unmasked: Count('No longer masked by a rule.'),
  masked_otherwise: Count('Masked by the same rules with another result.'),
  warned: Count('With a further warning.'),
  unwarned: Count('Without a warning that there would be.'),
  routed: Count('Sent to another model first.'),
  over_limit: Count('Refused by a budget or a limit with the drafts only.'),
  within_limit: Count('Refused by a budget or a limit without the drafts only.'),
  reply_blocked: Count('With a reply that is refused with the drafts only.'),
  reply_unblocked: Count('With a reply that is refused without the drafts only.'),
  reply_masked: Count('With a reply that a further rule masks.'),
  reply_unmasked: Count('With a reply that a rule no longer masks.'),
  reply_warned: Count('With a further warning about the reply.'),
  reply_unwarned: Count('Without a warning about the reply that there would be.'),
}

const DraftRuleSchema = Type.Object(
  {
    kind: StringEnum(RULE_KINDS, { description: 'Kind of the rule.' }),
    id: Type.Integer({ format: 'int64', description: 'Id of the rule; negative for a new one.' }),
    name: Type.String({ description: 'Name of the rule.' }),
    action: StringEnum(['add', 'change', 'remove'], { description: 'What the drafts do to it.' }),
    before: Count('Requests in which it acts without the drafts.'),
    after: Count('Requests in which it acts with the drafts.'),
    changed: Count('Those of either that the drafts change.'),
  },
  { $id: 'WhatIfRule', description: 'What a drafted rule does.' },
)

const DraftSchema = Type.Object(
  {
    type: StringEnum(['policy', 'user', 'group'], { description: 'What the drafts are about.' }),
    id: Type.Integer({ format: 'int64', description: 'Its id; negative if it is new.' }),
    name: Type.String({ description: 'Its name.' }),
    action: StringEnum(['add', 'change', 'remove'], { description: 'What the drafts do to it.' }),
    requests: Count('Requests in which its rules act, or of users who join or leave the group.'),
    changed: Count('Requests that the drafts change, and in which it has a part.'),
    blocked: Count('Those of them that are refused with the drafts only.'),
    masked: Count('Those of them that are masked by a further rule.'),
    warned: Count('Those of them with a further warning.'),
    routed: Count('Those of them that are sent to another model.'),
    rules: Type.Array(DraftRuleSchema, { description: 'The rules that the drafts add, change and remove.' }),
  },
  { $id: 'WhatIfDraft', description: 'What the drafts of a policy, a user or a group do.' },
)

const ExampleSchema = Type.Object(
  {
    x_request_id: Type.String({ description: 'Id of the request.' }),
    time: Timestamp('When it arrived.'),
    user_id: Count('Id of the user.'),
    effects: Type.Array(Type.String(), { description: 'What the drafts do to it; see effects.' }),
    before: DecisionSchema,
    after: DecisionSchema,
  },
  { $id: 'WhatIfExample', description: 'A request that the drafts change.' },
)

const reasons = (description: string) =>
  Type.Array(
    Type.Object(
      {
        reason: Type.String({ description: 'The reason; see docs/guides/what-if.md.' }),
        requests: Count('Requests.'),
        message: Type.Optional(Type.String({ description: 'The reason, as a sentence.' })),
      },
      { $id: 'WhatIfReason', description: 'Why some requests are not evaluated or differ.' },
    ),
    { description },
  )

const Copies = Type.Object(
  {
    requests: Count('Requests that would be copied.'),
    cost_usd: Type.Number({
      description: 'What the copies would cost: recorded tokens of the requests at the prices of the models.',
    }),
    unknown: Count('Copies whose cost is not known.'),
  },
  { $id: 'WhatIfCopies', description: 'Copies of requests for other models.' },
)

const Limits = Type.Object(
  {
    user: Count('Requests that the budget of their user refuses.'),
    key: Count('Requests that the budget of their API key refuses.'),
    group: Count('Requests that the budget of a group refuses.'),
    all: Count('Requests that the budget of everything refuses.'),
    price: Count('Requests under a budget for models without a price.'),
    tokens: Count('Requests that the limit of tokens per minute refuses.'),
    concurrency: Count('Requests that the limit of requests at the same time refuses.'),
    downgraded: Count('Requests that a budget routes in the mode cost.'),
  },
  { $id: 'WhatIfLimits', description: 'What budgets and limits do to requests that the rules allow.' },
)

/** What the evaluation of recorded requests finds. */
const reportFields = {
  requests: Count('Recorded requests that pass the filters, up to the limit: the newest.'),
  matching: Count('Recorded requests that pass the filters, up to a million beyond the limit.'),
  is_truncated: Type.Boolean({ description: 'Whether there are more requests than the limit.' }),
  evaluated: Count('Requests that were evaluated.'),
  not_evaluated: reasons('Why the others were not.'),
  effects: Type.Object(
    { ...effects, unchanged: Count('Requests that the drafts do not change.') },
    { $id: 'WhatIfEffects', description: 'Evaluated requests by what the drafts do to them.' },
  ),
  outcomes: Type.Object(
    { before: Outcomes, after: Outcomes },
    { description: 'What would happen without and with the drafts.' },
  ),
  cost_usd: Type.Object(
    {
      before: Type.Number({ description: 'Without the drafts.' }),
      after: Type.Number({ description: 'With the drafts.' }),
      change: Type.Number({ description: 'after minus before.' }),
      unknown: Count('Requests whose cost is not known, which are in neither.'),
    },
    { $id: 'WhatIfCost', description: "Cost in US dollars: recorded tokens at today's prices." },
  ),
  limits: Type.Object(
    {
      before: Limits,
      after: Limits,
      estimated: Count('Requests that were not sent then, and now count with the most that they could cost.'),
    },
    {
      description: 'Budgets and limits, replayed in the order of the requests, without and with the drafts.',
    },
  ),
  replies: Type.Object(
    {
      evaluated: Count('Requests with a stored reply that response rules were evaluated on.'),
      not_evaluated: reasons('Why the others were not, among those that response rules apply to.'),
    },
    { $id: 'WhatIfReplies', description: 'Replies that response rules inspect, without or with the drafts.' },
  ),
  copies: Type.Object(
    { before: Copies, after: Copies },
    { description: 'Copies for other models without and with the drafts; cost_usd is without them.' },
  ),
  drafts: Type.Array(DraftSchema, { description: 'What each draft does.' }),
  examples: Type.Array(ExampleSchema, { description: 'Requests that the drafts change, newest first.' }),
  reproduced: Type.Object(
    {
      same: Count('The same was decided.'),
      different: Count('Something else was decided, for a reason that is not known.'),
      explained: reasons('Something else was decided, for a known reason.'),
    },
    { $id: 'WhatIfReproduced', description: "What today's rules decide, compared with what was recorded." },
  ),
}

const _Report = Type.Object(reportFields)

export type WhatIfReport = Static<typeof _Report>

export const WhatIfResult = Type.Object(
  {
    rules_position: Count('Log position of the rules that were compared with the drafts.'),
    since: Timestamp('Start of the range.'),
    until: Timestamp('End of the range.'),
    ...reportFields,
    tool_calls: ToolCallsReportSchema,
    limitations: Type.Array(
      Type.Object(
        {
          code: Type.String({ description: 'Kind of limitation, such as plugin or budgets.' }),
          message: Type.String({ description: 'What is not evaluated, as a sentence.' }),
        },
        { $id: 'WhatIfLimitation', description: 'Something that the result does not tell.' },
      ),
      { description: 'What the result does not tell.' },
    ),
    elapsed_ms: Count('Milliseconds that it took.'),
  },
  { $id: 'WhatIfResult', description: 'What drafts would have done to recorded requests.' },
)

export type ShownWhatIf = Static<typeof WhatIfResult>

const _Event = Type.Object({ evaluated: Count('Evaluated requests.'), requests: Count('Read requests.') })

/** The `data` of the records of a stream. */
export const WhatIfEvents = Type.Union(
  [Type.Object(_Event.properties, { $id: 'WhatIfProgress', description: 'event: progress.' }), WhatIfResult],
  { $id: 'WhatIfEvent', description: 'Progress, and at the end the result (event: result).' },
)
