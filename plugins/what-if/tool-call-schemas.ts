import { Nullable, type Static, StringEnum, Type } from '../../core/contract/index.ts'
import { AnyFields, Count, RuleOriginSchema, Timestamp } from '../../core/http/schemas.ts'
import { RecordedErrorSchema } from '../ledger/index.ts'
import { CALL_VERDICTS } from '../mcp/index.ts'

/** What drafts do to a call of a tool, compared with the rules of today. */
export const TOOL_EFFECTS = [
  'newly_denied',
  'newly_allowed',
  'newly_needing_approval',
  'no_longer_needing_approval',
  'denied_otherwise',
  'masked',
  'unmasked',
  'warned',
  'unwarned',
] as const

export type ToolEffect = (typeof TOOL_EFFECTS)[number]

const effects: Readonly<Record<ToolEffect, ReturnType<typeof Count>>> = {
  newly_denied: Count('Refused with the drafts only.'),
  newly_allowed: Count('Refused without the drafts only, and made with them, or once approved.'),
  newly_needing_approval: Count('Made without the drafts, and only once approved with them.'),
  no_longer_needing_approval: Count('Made only once approved without the drafts, and at once with them.'),
  denied_otherwise: Count('Refused for another reason.'),
  masked: Count('With arguments that a further rule masks.'),
  unmasked: Count('With arguments that a rule no longer masks.'),
  warned: Count('With a further warning.'),
  unwarned: Count('Without a warning that there would be.'),
}

const Outcomes = Type.Object(
  Object.fromEntries(
    CALL_VERDICTS.map((verdict) => [verdict, Count(`Calls with the verdict ${verdict}.`)]),
  ) as Record<(typeof CALL_VERDICTS)[number], ReturnType<typeof Count>>,
  { $id: 'WhatIfToolOutcomes', description: 'Verdicts about the calls.' },
)

const DecidingRule = Type.Object(
  {
    kind: Type.String({ description: 'Kind of the rule: tool or firewall.' }),
    id: Type.Integer({ format: 'int64', description: 'Id of the rule; negative for a new one.' }),
    name: Type.String({ description: 'Name of the rule.' }),
    origin: Type.Optional(RuleOriginSchema),
  },
  { $id: 'WhatIfToolRule', description: 'A rule that decides about a call.' },
)

const DecisionSchema = Type.Object(
  {
    verdict: StringEnum(CALL_VERDICTS, { description: 'What would be decided.' }),
    rule: Nullable(DecidingRule, {
      description: 'The rule that would decide; null if the default of the server does.',
    }),
    error: Type.Optional(RecordedErrorSchema),
    arguments: Nullable(AnyFields('The arguments as they would be sent.'), {
      description: 'The arguments as they would be sent; null if the call is refused, or if they are long.',
    }),
  },
  { $id: 'WhatIfToolDecision', description: 'How a call would be handled.' },
)

const reasons = (description: string) =>
  Type.Array(
    Type.Object(
      {
        reason: Type.String({ description: 'The reason; see docs/guides/what-if.md.' }),
        calls: Count('Calls.'),
      },
      { $id: 'WhatIfToolReason', description: 'Why some calls are not evaluated, or differ.' },
    ),
    { description },
  )

export const ToolCallsReportSchema = Type.Object(
  {
    calls: Count('Recorded calls that pass the filters, up to the limit: the newest.'),
    is_truncated: Type.Boolean({ description: 'Whether there are more calls than the limit.' }),
    evaluated: Count('Calls that were decided again.'),
    not_evaluated: reasons('Why the others were not.'),
    effects: Type.Object(
      { ...effects, unchanged: Count('Calls that the drafts do not change.') },
      { $id: 'WhatIfToolEffects', description: 'Evaluated calls by what the drafts do to them.' },
    ),
    outcomes: Type.Object(
      { before: Outcomes, after: Outcomes },
      { description: 'What would happen without and with the drafts.' },
    ),
    rules: Type.Array(
      Type.Object(
        {
          ...DecidingRule.properties,
          newly_denied: Count('Calls that it refuses, and that would be made without the drafts.'),
          newly_allowed: Count('Calls that it refuses without the drafts, and that are not with them.'),
          newly_needing_approval: Count('Calls that it lets wait, and that would not without the drafts.'),
        },
        { $id: 'WhatIfToolRuleCounts', description: 'The calls that change by a rule.' },
      ),
      { description: 'The rules by which calls change.' },
    ),
    examples: Type.Array(
      Type.Object(
        {
          x_request_id: Type.String({ description: 'Id of the call.' }),
          time: Timestamp('When it arrived.'),
          user_id: Count('Id of the user.'),
          server: Type.String({ description: 'Name of the tool server.' }),
          tool: Type.String({ description: 'Name of the tool.' }),
          effects: Type.Array(StringEnum(TOOL_EFFECTS), { description: 'What the drafts do to it.' }),
          before: DecisionSchema,
          after: DecisionSchema,
        },
        { $id: 'WhatIfToolExample', description: 'A call that the drafts change.' },
      ),
      { description: 'Calls that the drafts change, newest first.' },
    ),
    reproduced: Type.Object(
      {
        same: Count('The same was decided.'),
        different: reasons('Something else was decided, and why.'),
      },
      {
        $id: 'WhatIfToolReproduced',
        description: "What today's rules decide, compared with what was recorded.",
      },
    ),
  },
  { $id: 'WhatIfToolCalls', description: 'What the drafts do to recorded calls of tools.' },
)

export type ToolCallsReport = Static<typeof ToolCallsReportSchema>
