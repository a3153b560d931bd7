import { Nullable, StringEnum, Type } from '../../core/contract/index.ts'
import { Count, Timestamp } from '../../core/http/schemas.ts'
import { groupFilter, keyFilter, nullableText, range, TokensSchema, userFilter } from './schemas.ts'
import { USAGE_DIMENSIONS } from './store/queries.ts'

const usageFields = {
  requests: Count('Requests.'),
  errors: Count('Requests that were refused or failed.'),
  cache_hits: Count('Requests that the cache answered.'),
  unknown_costs: Count('Requests whose cost is unknown; cost_usd does not include them.'),
  tokens: TokensSchema,
  cost_usd: Type.Number({ description: 'Cost in US dollars.' }),
  ratings: Count('Requests with a score for quality.'),
  mean_score: Nullable(Type.Number(), {
    description: 'Mean of these scores, from 0 to 1; null if there are none.',
  }),
  signals: Type.Object(
    {
      cut_off: Count('Replies that ended at a limit of their length.'),
      invalid_tool_call: Count('Replies with a tool call whose arguments are not JSON.'),
      schema_mismatch: Count('Replies that do not have the form that was demanded.'),
      asked_again: Count('Requests whose prompt came again within a minute.'),
    },
    { $id: 'AnswerSignals', description: 'Signals that come by themselves; no part of the score.' },
  ),
}

const UsageSchema = Type.Object(
  {
    user: Type.Optional(Count('Id of the user.')),
    group: Type.Optional(Count('Id of the group. A request counts for each group of its user.')),
    key: Type.Optional(Type.String({ description: 'Id of the API key.' })),
    model: Type.Optional(nullableText('The model; null for requests without a reply.')),
    provider: Type.Optional(nullableText('The provider; null for requests without a reply.')),
    rule: Type.Optional(
      Type.String({
        description:
          'A rule that did something. A request, and a call of a tool, counts for each of its rules.',
      }),
    ),
    arm: Type.Optional(
      Type.String({ description: 'The model that a split has drawn. Other requests are left out.' }),
    ),
    hour: Type.Optional(Timestamp('Start of the hour.')),
    day: Type.Optional(Type.String({ description: 'Date in UTC, such as 2026-03-01.' })),
    name: Type.Optional(
      nullableText(
        'With names: what the user, key or rule is called; null if that is not known, or there is none.',
      ),
    ),
    ...usageFields,
  },
  { $id: 'Usage', description: 'The usage of a group. Has the fields that it is grouped by.' },
)

export const UsageReport = Type.Object(
  {
    data: Type.Array(UsageSchema, { description: 'The usage by group, sorted by the fields of the groups.' }),
    since: Timestamp('Start of the range, rounded down to a whole hour.'),
    until: Timestamp('End of the range, rounded up to a whole hour.'),
  },
  { $id: 'UsageReport', description: 'Usage.' },
)

const CopyUsageSchema = Type.Object(
  {
    rule: nullableText('The rule that sent them, such as routing:7; null if it was not recorded.'),
    provider: nullableText('The provider of the other model.'),
    model: nullableText('The other model.'),
    copies: Count('Copies that were sent.'),
    errors: Count('Copies that failed.'),
    unknown_costs: Count('Copies whose cost is unknown; cost_usd does not include them.'),
    tokens: Type.Object(
      { input: Count('Tokens of the prompts.'), output: Count('Tokens of the replies.') },
      { description: 'Tokens.' },
    ),
    cost_usd: Type.Number({ description: 'Cost in US dollars.' }),
    latency_ms: Nullable(Type.Integer(), {
      description: 'Mean time until the reply ended, of those that were answered; null if there are none.',
    }),
    ratings: Count('Copies with a score for quality.'),
    mean_score: Nullable(Type.Number(), { description: 'Mean of these scores; null if there are none.' }),
  },
  { $id: 'CopyUsage', description: 'The copies of one rule for one model.' },
)

export const CopyReport = Type.Object(
  {
    data: Type.Array(CopyUsageSchema, { description: 'The copies by rule and model.' }),
    since: Timestamp('Start of the range.'),
    until: Timestamp('End of the range.'),
  },
  { $id: 'CopyReport', description: 'Copies of requests for other models.' },
)

export const copyQuery = range

export const adminCopyQuery = { user: userFilter, ...range }

function usageParameters(dimensions: readonly string[]) {
  return {
    group_by: Type.Optional(
      Type.Array(StringEnum(dimensions), {
        maxItems: dimensions.length,
        uniqueItems: true,
        description: 'The fields to group by; repeat the parameter for several. Without it: the sum.',
        examples: [['day']],
      }),
    ),
    key: keyFilter,
    ...range,
  }
}

/** A user has one user, and does not know of groups. */
export const usageQuery = usageParameters(
  USAGE_DIMENSIONS.filter((dimension) => dimension !== 'user' && dimension !== 'group'),
)

export const adminUsageQuery = {
  user: userFilter,
  group: groupFilter,
  ...usageParameters(USAGE_DIMENSIONS),
  names: Type.Optional(
    Type.Boolean({
      description:
        'Adds the name of the user, or else of the key or rule, to each entry; to that of a rule or key, ' +
        'the name of its policy or user.',
    }),
  ),
}
