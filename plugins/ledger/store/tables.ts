import type { ColumnType, Generated } from 'kysely'
import type { AnswerSignal, PromptOmission } from './record.ts'

export type LedgerEngine = 'sqlite' | 'postgres'

/** The tables of the ledger. */
export interface LedgerTables {
  ledger: { log_id: string }
  requests: RequestRow
  lists: ListRow
  trace_rules: TraceRuleRow
  trace_slots: TraceSlotRow
  prompts: PromptRow
  responses: ResponseRow
  sessions: SessionRow
  tool_calls: Omit<ToolCallRow, 'id'> & { id: Generated<number> }
  /** One row, with the number of the last record; empty until something is exported. */
  export_clock: { id: number; last: number }
  export_parts: ExportPartRow
  export_targets: ExportTargetRow
  feedback: FeedbackRow
  rated_prompts: RatedPromptRow
  assumed_costs: AssumedCostRow
  labels: LabelRow
  group_sets: LabelRow
  group_members: { group_id: number; group_set: number }
  targets: TargetRow
  errors: ErrorRow
  /** In tables of usage, the group set 0 is that of users without groups. */
  usage_hours: UsageMeasures & {
    hour: number
    user_id: number
    key: number
    group_set: number
    target: number
  }
  usage_totals: UsageMeasures & { hour: number; target: number }
  usage_days: UsageMeasures & {
    day: number
    user_id: number
    key: number
    group_set: number
    target: number
  }
  usage_rule_days: UsageMeasures & { day: number; kind: number; rule_id: number; target: number }
  usage_rules: UsageMeasures & {
    hour: number
    kind: number
    rule_id: number
    user_id: number
    key: number
    group_set: number
    target: number
  }
}

/** A session of a user, by which it is found. What happened in it is in `requests` and `tool_calls`. */
export interface SessionRow {
  user_id: number
  session: string
  /** When its first and its last request or call came: Unix times in milliseconds. */
  first_seen: number
  last_seen: number
}

/** Records that a transaction has written, by numbers. See `numberRecords`. */
export interface ExportPartRow {
  /** Number of the last of them. */
  last: number
  kind: 'request' | 'tool_call'
  /** Their ids in the table of the kind: JSON, in order. */
  ids: string
  /** Unix time in milliseconds. */
  written: number
}

/** See `ExportState`. */
export interface ExportTargetRow {
  name: string
  position: number
  pending: number | null
  /** The process that exports, and until when others leave the target to it. */
  owner: string | null
  lease_end: number
  /** When a process has last asked for it. */
  seen: number
}

/** A call of a tool. */
export interface ToolCallRow {
  id: number
  request_id: string
  /** Unix time in milliseconds. */
  time: number
  user_id: number
  /** The groups of the user, such as `,3,7,`; null if there are none. */
  group_ids: string | null
  session: string | null
  server: string
  tool: string
  verdict: string
  /** The other fields of the record, in JSON. */
  data: string
  /** The key that the arguments are encrypted with; null if they are not recorded. */
  key_id: string | null
  arguments: Buffer | null
}

export interface RequestRow {
  /** See `toRecordId`. */
  id: number
  request_id: string
  user_id: number
  /** `key`, `endpoint`, `mode` and `reason` are ids of labels. */
  key: number
  /**
   * The groups of the user; null if there are none. See docs/decisions/ledger.md, "Groups are recorded as a
   * set".
   */
  group_set: number | null
  endpoint: number
  mode: number | null
  reason: number | null
  /** Null if it is the name of the model that replied, or if the request named none. */
  requested_model: string | null
  status: number
  error: number | null
  target: number | null
  /** The calls to providers, and when the steps of the request ended, as JSON. See `decodeAttempts`. */
  attempts: string | null
  /** What the rules did: the id of a list; null if there were none. */
  trace: number | null
  rules_position: number
  /** JSON; null if there are none, or if `warning_list` says them. */
  warnings: string | null
  warning_list: number | null
  input: number | null
  cached: number | null
  cache_write: number | null
  output: number | null
  reasoning: number | null
  /** Nano-dollars. */
  cost: number | null
  latency: number
  first_token: number | null
  /** A sum of `FLAGS`. */
  flags: number
  trace_id: string | null
  router_version: number | null
  router_probability: number | null
  router_propensity: number | null
  /** Id of a label. */
  routing_arm: number | null
  /** The request id of the request that this one is a copy of. */
  shadow_of: string | null
  /** A sum of `SIGNALS`. */
  signals: number
  /** Id of a label. */
  deployment: number | null
  /** Null if the client named none. */
  session: string | null
}

export const FLAGS = { stream: 1, cacheHit: 2, aborted: 4, modelOmitted: 8, ownCopy: 16 } as const

export const SIGNALS: Readonly<Record<AnswerSignal, number>> = {
  cut_off: 1,
  invalid_tool_call: 2,
  schema_mismatch: 4,
  asked_again: 8,
}

/** A list that many requests have: a trace of rules, or warnings. */
export interface ListRow {
  id: Generated<number>
  /** Hash of the value, which may be too long for an index. */
  digest: string
  /** JSON. */
  value: string
  /** The last day on which it was used, in days since 1970. */
  day: ColumnType<number, number, number>
}

/** Actions of rules that were applied, by trace. */
export interface TraceRuleRow {
  trace: number
  kind: number
  rule_id: number
  action: number
}

/**
 * Says that requests with a trace arrived in a slot of time. See docs/decisions/ledger.md, "Rules are
 * recorded as a trace".
 */
export interface TraceSlotRow {
  /** A label: the kind of a rule that was applied, or an action. */
  kind: number
  /** `ANY_RULE` for an action. */
  rule_id: number
  /** See `slotOf`. */
  slot: number
  trace: number
}

/** See docs/decisions/prompt-recording.md, "Prompts have a table of their own". */
export interface PromptRow {
  /** That of the request. */
  id: number
  user_id: number
  mode: 'masked' | 'full'
  omission: PromptOmission | null
  /** The key that `data` is encrypted with. */
  key_id: string | null
  data: Buffer | null
}

/** What somebody said about the reply to a request, or about an imported prompt. */
export interface FeedbackRow {
  /** Id of the request, or of the rated prompt if it was imported. */
  request: number
  name: string
  /** The user of the request; 0 for an imported prompt. */
  user_id: number
  /** From 0 to 1. */
  score: number
  comment: string | null
  /** Id of a key or of an operator. */
  given_by: string
  /** Unix time in milliseconds. */
  given_at: number
}

/**
 * The hashed features of a prompt, from which routers learn. See docs/decisions/feedback.md, "Features are
 * kept beside feedback".
 */
export interface RatedPromptRow {
  /** That of the request; for an imported prompt, an id of the time of the import. */
  id: number
  /** 0 for an imported prompt. */
  user_id: number
  model: string
  features: Buffer
}

/** What budgets count for a request whose cost is not known. */
export interface AssumedCostRow {
  /** That of the request. */
  id: number
  user_id: number
  key: number
  group_set: number | null
  /** 1 for a copy for another model, and for one that the user has asked for. */
  is_copy: number
  is_own_copy: number
  /** Nano-dollars. */
  cost: number
}

/** A stored response of the Responses API. */
export interface ResponseRow {
  /** What its id has in common with that of its request. */
  id: string
  user_id: number
  /** The key that it was made with. */
  key_id: string
  /** Unix time in milliseconds. */
  expires: number
  /** JSON. */
  data: string
}

/** Texts of small sets, which are stored once. */
export interface LabelRow {
  id: Generated<number>
  value: string
}

export interface TargetRow {
  id: Generated<number>
  provider: string
  model: string
}

export interface ErrorRow {
  id: Generated<number>
  /** Hash of the other columns, which may be too long for an index. */
  digest: string
  code: string
  status: number
  message: string | null
  param: string | null
  rule_id: number | null
  /** The last day on which it was used, in days since 1970. */
  day: ColumnType<number, number, number>
}

/** What usage is summed up to, by hour. */
export interface UsageMeasures {
  requests: number
  errors: number
  cache_hits: number
  /** Requests that a provider answered at an unknown cost. */
  unknown_costs: number
  input: number
  cached: number
  cache_write: number
  output: number
  reasoning: number
  /** Nano-dollars. */
  cost: number
  /** Requests with a score for quality, and the sum of these scores in millionths. */
  ratings: number
  score: number
  cut_off: number
  invalid_tool_call: number
  schema_mismatch: number
  asked_again: number
}

export const MEASURES = [
  'requests',
  'errors',
  'cache_hits',
  'unknown_costs',
  'input',
  'cached',
  'cache_write',
  'output',
  'reasoning',
  'cost',
  'ratings',
  'score',
  'cut_off',
  'invalid_tool_call',
  'schema_mismatch',
  'asked_again',
] as const satisfies readonly (keyof UsageMeasures)[]
