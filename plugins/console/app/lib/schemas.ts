/** Generated from the schemas of `/openapi.json` by `npm run generate`. */
export interface AccessEntry {
  kind: 'root' | 'operator' | 'user'; id: string; name: string; role: 'admin' | 'editor' | 'auditor' | null
  plan: 'free' | 'paid' | null; groups: AccessGroup[] | null; policies: AccessPolicy[]
  identity: string | null; keys: AccessKey[]; expires_at: string | null; created_at: string | null
  last_used_at?: string | null
  findings: ('never_used' | 'unused' | 'unused_key' | 'expired' | 'no_expiry' | 'no_access')[]
  is_stale: boolean
}
export interface AccessGroup { id: number; name: string }
export interface AccessKey {
  id: string; name?: string; models?: string[]; endpoints?: string[]; expires_at: string | null
  last_used_at?: string | null
}
export interface AccessPolicy { id: number; name: string }
export interface Actor {
  type: 'operator' | 'key' | 'identity' | 'root' | 'cli' | 'system'; id: string; name: string
  issuer?: string
}
export interface AgentSession {
  session_id: string; user_id: number; started_at: string; last_active_at: string; requests: number
  failed_requests: number; blocked_requests: number; tool_calls: number; refused_tool_calls: number
  tokens: Tokens; cost_usd: number; unknown_costs: number
}
export interface AgentSessionWithSteps {
  session_id: string; user_id: number; started_at: string; last_active_at: string; requests: number
  failed_requests: number; blocked_requests: number; tool_calls: number; refused_tool_calls: number
  tokens: Tokens; cost_usd: number; unknown_costs: number; steps: SessionStep[]
}
export interface Alert {
  name: string; when: string; condition: string; state: 'ok' | 'firing'; since: string | null
  last_sent_at: string | null
  firing: ({ subject: string; text: string; since: string; notified_at: string })[]
  targets: ({ to: string; last_sent_at: string | null; error: string | null })[]
}
export interface AlertTest { results: ({ to: string; sent: boolean; error: string | null })[] }
export interface AnswerSignals {
  cut_off: number; invalid_tool_call: number; schema_mismatch: number; asked_again: number
}
export interface ApiKey {
  id: string; name?: string; expires_at?: string; models?: string[]; endpoints?: string[]
  budget?: BudgetTerms; created_at: string; revoked_at: string | null; last_used_at?: string | null
}
export interface Approval {
  id: string; status: 'pending' | 'granted' | 'denied' | 'used' | 'expired'; user_id: number; server: string
  tool: string; arguments_digest: string; session_id: string | null; rule_id: number; rule_name: string
  rules_position: number; created_at: string; expires_at: string; decided_at: string | null
  decided_by: Actor | null; used_by: string | null
}
export interface ApprovalDetails {
  id: string; status: 'pending' | 'granted' | 'denied' | 'used' | 'expired'; user_id: number; server: string
  tool: string; arguments_digest: string; session_id: string | null; rule_id: number; rule_name: string
  rules_position: number; created_at: string; expires_at: string; decided_at: string | null
  decided_by: Actor | null; used_by: string | null; user_name: string
  arguments: Record<string, unknown> | null
}
export interface ArgumentContains { contains: string }
export interface ArgumentEquals { equals: unknown }
export interface ArgumentMatches { matches: string }
export interface Attempt {
  provider: string; model: string; deployment?: string; outcome: string; ms: number; start_ms?: number
}
export interface Attention {
  code: string; severity: 'error' | 'warning' | 'info'; message: string; rule?: RuleOfPolicy
  user_id?: number; group_id?: number; provider?: string
}
export interface AuditEntry {
  position: number; time: string; actor: Actor; request_id: string | null; reason?: string
  kind: 'routing' | 'firewall' | 'tool' | 'key' | 'user' | 'policy' | 'group' | 'operator' | 'access'
    | 'approval' | 'budget' | 'router' | 'tool_server' | 'log' | 'unknown'
  id: number | string | null; event: string; user_id: number | null; group_id?: number; policy_id?: number
  no_effect?: string; data: Record<string, unknown>; before?: Record<string, unknown> | null
  after?: Record<string, unknown> | null
}
export interface BlockingRule { rule_id: number; name: string; origin?: RuleOrigin }
export interface BudgetState {
  limit_usd: number; period: 'day' | 'week' | 'month' | 'total'; warn_ratio?: number
  on_exceed: 'refuse' | 'downgrade'; spent_usd?: number; reserved_usd?: number; remaining_usd?: number
  period_start?: string | null; period_end?: string | null
}
export interface BudgetTerms {
  limit_usd: number; period: 'day' | 'week' | 'month' | 'total'; warn_ratio?: number
  on_exceed: 'refuse' | 'downgrade'
}
export interface Catalogue {
  models: CatalogueModel[]; modes: RoutingMode[]; price_list: string
  updated: { date: string; source: string } | null
}
export interface CatalogueModel {
  provider: string; id: string; aliases: string[]; operation: 'chat' | 'embeddings' | 'moderation'
  state: 'available' | 'not_configured' | 'retired'; source: 'shipped' | 'updated' | 'settings'; price: Price
  changed_prices: PriceDifference[]; context: number; max_output: number; quality: number; latency_ms: number
  expected_latency_ms: number; capabilities: ModelCapabilities; reasoning: boolean; sampling: boolean
  automatic: boolean; retires: string | null; region: string | null; zdr: boolean | null
  retention_days: number | null; trains_on_data: boolean | null; quirks: Record<string, unknown>
}
export interface Change {
  position: number; time: string; actor: Actor; request_id: string | null; reason?: string
  kind: 'routing' | 'firewall' | 'tool' | 'key' | 'user' | 'policy' | 'group' | 'unknown'
  id: number | string | null; revision: number; event: string; no_effect?: string
  before: Record<string, unknown> | null; after: Record<string, unknown> | null; reverted_to?: number
}
export interface CheckpointAge { size: number; time: string; age_seconds: number }
export interface ConsoleSession {
  type: 'root' | 'operator' | 'user'; id: string; name: string; role: 'admin' | 'editor' | 'auditor' | null
  scope: OperatorScope | null; user_id: number | null; plan: string | null; sends_chats: boolean
  csrf_token: string; expires_at: string; external?: UserIdentity
}
export interface ConsoleSignInOptions { provider: string; keys: boolean }
export interface CurrentConsoleSession { data: ConsoleSession | null; sign_in?: ConsoleSignInOptions }
export interface DecidingToolRule { rule_id: number; name: string; origin?: RuleOrigin }
export interface EffectiveFirewallRule {
  id: number; user_id?: number; policy_id?: number; name: string; is_enabled: boolean; priority: number
  scope: 'prompt' | 'response' | 'tool_call' | 'tool_result'; type: 'substring' | 'regex' | 'preset'
  pattern?: string; action: 'block' | 'mask' | 'warn'; replacement?: string | null; pattern_error?: string
  revision?: number; created_at: string; updated_at: string; origin: RuleOrigin | OwnRuleOrigin
}
export interface EffectiveRoutingRule {
  id: number; user_id?: number; policy_id?: number; name: string; is_enabled: boolean; priority: number
  match_json?: Record<string, unknown>; action_json?: Record<string, unknown>; revision?: number
  created_at: string; updated_at: string; origin: RuleOrigin | OwnRuleOrigin
}
export interface EffectiveToolRule {
  id: number; user_id?: number; policy_id?: number; name: string; is_enabled: boolean; priority: number
  match?: ToolMatch; action: 'allow' | 'deny' | 'hide' | 'require_approval' | 'warn'; revision?: number
  created_at: string; updated_at: string; origin: RuleOrigin | OwnRuleOrigin
}
export interface EventProof {
  position: number; index: number; leaf: string; hashes: string[]; checkpoint: string; key: string
}
export interface EveryoneScope { everyone: boolean }
export interface ExplainedRule {
  kind: 'routing' | 'firewall' | 'tool'; id: number; origin?: RuleOrigin
  state: 'unchanged' | 'changed' | 'deleted'; as_decided: Record<string, unknown> | null
  current: Record<string, unknown> | null
}
export interface FirewallPreset {
  name: string; description: string; checked: string | null; example: string
}
export interface GatewayStatus {
  version: string; providers: ProviderStatus[]; event_log: { state: string; position: number }
  ledger: { is_available: boolean }; checkpoint: CheckpointAge | null; attention: Attention[]
}
export interface Group {
  id: number; name: string; description: string | null; budget?: BudgetTerms; created_at: string
  updated_at: string
}
export interface GroupMember { id: number; name: string }
export interface IssuedApiKey {
  id: string; name?: string; expires_at?: string; models?: string[]; endpoints?: string[]
  budget?: BudgetTerms; created_at: string; revoked_at: string | null; last_used_at?: string | null
  key: string
}
export interface KeySource {
  type: 'key' | 'none' | 'aws' | 'google' | 'entra'; variable: string | null; file: string | null
  is_set: boolean
}
export interface LoggedCheckpoint {
  size: number; root: string; time: string; position: number; key: string; note: string
}
export interface Model {
  id: string; object: string; created: number; owned_by: string; provider?: string; aliases?: string[]
  operation?: 'chat' | 'embeddings' | 'moderation'; dimensions?: Record<string, unknown>; context?: number
  max_output?: number; price?: Price; quality?: number; capabilities?: ModelCapabilities; retires?: string
  region?: string; zdr?: boolean; retention_days?: number; trains_on_data?: boolean
}
export interface ModelCapabilities { tools: boolean; images: boolean; json: 'none' | 'object' | 'schema' }
export interface Node {
  host: string; version: string; node_version: string; cpus: number; memory_bytes: number
  event_log: 'embedded' | 'server'; ledger: 'embedded' | 'server'; shares_counts: boolean
  processes: NodeProcess[]
}
export interface NodeProcess {
  role: 'single' | 'primary' | 'worker'; number: number | null; state: 'starting' | 'serving' | 'draining'
  is_leader: boolean; lag: number | null; figures: ProcessFigures | null
}
export interface Operator {
  id: string; name: string; role: 'admin' | 'editor' | 'auditor'; scope: OperatorScope | null
  expires_at: string | null; external?: UserIdentity; created_at: string; last_used_at?: string | null
}
export interface OperatorScope { groups: number[] }
export interface Overview {
  range: '1h' | '24h' | '7d' | null; since: string; until: string; step_seconds: number
  totals: OverviewFigures; series: OverviewPoint[]; changes: RuleChange[]
}
export interface OverviewFigures {
  requests: number; errors: number; blocks: number | null; masks: number | null; cost_usd: number
  latency_p50_ms: number | null; latency_p95_ms: number | null
}
export interface OverviewPoint {
  time: string; requests: number; errors: number; blocks: number | null; masks: number | null
  cost_usd: number; latency_p50_ms: number | null; latency_p95_ms: number | null
}
export interface OwnBudgets { user: BudgetState | null; key: BudgetState | null }
export interface OwnRuleOrigin { type: string; id: number }
export interface OwnedApiKey {
  id: string; name?: string; expires_at?: string; models?: string[]; endpoints?: string[]
  budget?: BudgetTerms; created_at: string; revoked_at: string | null; last_used_at?: string | null
  state: 'active' | 'expired' | 'revoked'; user_id: number; user_name: string
}
export interface PatternMatch { start: number; end: number }
export interface PatternTestResult {
  pattern_error: string | null; is_match: boolean; is_finished: boolean; matches: PatternMatch[]
  is_truncated: boolean; masked: string | null
}
export interface Percentiles { p50: number; p90: number; p99: number }
export interface PinnedTool {
  name: string; status: 'approved' | 'pending' | 'changed' | 'rejected'; revision: number
  approved_revision: number | null; served_revision: number | null; digest: string; seen_at: string
  decided_at: string | null; removed_at: string | null; omits_revisions: boolean
  definition: Record<string, unknown>; findings: ToolFinding[]; diff: ToolDifference[] | null
}
export interface Policy {
  id: number; name: string; description: string | null; is_enabled: boolean; priority: number
  applies_to: EveryoneScope | PolicyScope; visibility: 'name' | 'full'; created_at: string
  updated_at: string; firewall_rules?: number; routing_rules?: number; tool_rules?: number
}
export interface PolicyScope { groups: number[]; users: number[] }
export interface Price {
  input: number; cached?: number; cache_write?: number; output: number; above?: Record<string, unknown>
}
export interface PriceComparison { source: string; compared: number; differences: PriceDifference[] }
export interface PriceDifference {
  change: 'dearer' | 'cheaper' | 'differs' | 'missing here' | 'missing there'; provider: string
  model: string; price: string; here: number | null; there: number | null
}
export interface ProcessFigures {
  pid: number; started_at: string; position: number | null; log_state: string | null; memory_bytes: number
  heap_used_bytes: number; heap_limit_bytes: number; requests_in_flight: number | null
}
export interface ProviderCheck {
  results: ({ provider: string; status: 'ok' | 'failed' | 'not checked'; ms: number; models: number | null;
    missing_models: string[]; message: string | null })[]
}
export interface ProviderDeployment {
  id: string; base_url: string | null; model: string | null; region: string | null; weight: number
  requests_per_minute: number | null; tokens_per_minute: number | null; max_concurrent: number | null
  requests_in_flight: number; key: KeySource
}
export interface ProviderDetails {
  provider: string; format: string; base_url: string | null; is_configured: boolean
  state: 'closed' | 'open' | 'half_open'; key: KeySource; region: string | null; balance: string | null
  models: number; calls: number; errors: number; latency_p50_ms: number | null; latency_p95_ms: number | null
  last_error: ProviderError | null; deployments: ProviderDeployment[]; targets: ProviderTarget[]
}
export interface ProviderError {
  code: string; model: string; deployment: string | null; time: string; request_id: string
}
export interface ProviderReport {
  uses_sandbox: boolean; since: string; requests: number; is_partial: boolean; providers: ProviderDetails[]
}
export interface ProviderStatus {
  provider: string; is_configured: boolean; state: 'closed' | 'open' | 'half_open'; open_models: string[]
  affected_callers: number
}
export interface ProviderTarget {
  model: string; deployment: string | null; state: 'closed' | 'open' | 'half_open'; rest_seconds: number
  rest_reason: 'circuit' | 'rate_limit' | null; affected_callers: number; calls: number; errors: number
  latency_p50_ms: number | null; latency_p95_ms: number | null; last_error: ProviderError | null
}
export interface RecordedError {
  code: string; http_status: number; message?: string; param?: string
  meta?: { rule_id?: number; origin?: RuleOrigin }
}
export interface RecordedPrompt {
  x_request_id: string; user_id: number; recorded: 'masked' | 'full'
  omission: 'refused' | 'too_long' | 'queue_full' | 'no_key' | null; request: Record<string, unknown> | null
  preferences: string[]; defaulted: string[]; left_out: string[]; headers: Record<string, unknown>
  reply: RecordedReply | null
}
export interface RecordedReply {
  message: Record<string, unknown> | null; omission: 'refused' | 'too_long' | 'unmasked' | null
  finish_reason: string | null; is_complete: boolean; left_out: string[]
}
export interface RecordedToolCall { verdict: string; is_same: boolean; has_same_arguments: boolean }
export interface RequestFeedback {
  name: string; score: number; comment: string | null; given_by: string; given_at: string
}
export interface RequestFigures {
  requests: number; is_truncated: boolean; errors: number; cost_usd: number; unknown_costs: number
  latency_ms: Percentiles | null; first_token_ms: Percentiles | null
}
export interface RequestRecord {
  x_request_id: string; time: string; user_id: number; key_id: string | null; group_ids: number[]
  endpoint: string; outcome: 'answered' | 'failed'; status: number; error?: RecordedError
  requested_model: string | null; routing_mode: string | null; routing_reason: string | null
  provider: string | null; model: string | null; deployment: string | null; attempts: Attempt[]
  times: RequestTimes | null; rules_position: number; rule_trace: RuleTraceEntry[]; warnings: Warning[]
  tokens: Tokens | null; cost_usd: number | null; latency_ms: number; first_token_ms: number | null
  stream: boolean; cache_hit: boolean; aborted: boolean; trace_id: string | null; session_id: string | null
  router: RouterChoice | null; routing_arm: string | null; shadow_of: string | null
  signals: ('cut_off' | 'invalid_tool_call' | 'schema_mismatch' | 'asked_again')[]
  feedback: RequestFeedback[]
}
export interface RequestTimes { admitted_ms: number; read_ms: number; decided_ms: number | null }
export interface Router {
  version: number; group_id: number | null; is_active: boolean
  models: ({ model: string; ratings: number })[]; figures: Record<string, unknown>
  trained_from: Record<string, unknown>; trained_at: string; position: number; checksum: string
}
export interface RouterChoice { version: number; p: number | null; propensity: number | null }
export interface RouterReport {
  active: { version: number; group_id: number | null; is_active: boolean; models: ({ model: string;
    ratings: number })[]; figures: Record<string, unknown>; trained_from: Record<string, unknown>;
    trained_at: string; position: number; checksum: string } | null
  candidate: { version: number; group_id: number | null; is_active: boolean; models: ({ model: string;
    ratings: number })[]; figures: Record<string, unknown>; trained_from: Record<string, unknown>;
    trained_at: string; position: number; checksum: string } | null
  verdict: string; is_better: boolean; is_better_on_known_kinds: boolean
}
export interface RoutingMode {
  mode: 'balance' | 'cost' | 'quality' | 'latency'; aliases: string[]; cost: number; quality: number
  latency: number
}
export interface RuleChange {
  time: string; position: number; actor: Actor; summary: string; reason?: string
}
export interface RuleOfPolicy {
  kind: 'routing' | 'firewall' | 'tool'; id: number; name: string; origin: RuleOrigin
}
export interface RuleOrigin { type: 'policy'; id: number; name: string }
export interface RuleTraceEntry {
  kind: string; rule_id: number; name: string; action: string; outcome: 'applied' | 'skipped'
  origin?: RuleOrigin; scope?: 'response' | 'tool_call' | 'tool_result'; reason?: string; arm?: string
  excluded?: string[]; excluded_count?: number
}
export interface SessionRequest {
  kind: 'request'; id: string; time: string; endpoint: string; requested_model: string | null
  model: string | null; provider: string | null; status: number; error_code: string | null
  tokens: Tokens | null; cost_usd: number | null; latency_ms: number
}
export interface SessionToolCall {
  kind: 'tool_call'; id: string; time: string; server: string; tool: string
  verdict: 'allowed' | 'denied' | 'hidden' | 'pending_approval' | 'approved' | 'blocked' | 'not_served'
    | 'failed'
  error_code: string | null; request_bytes: number; result_bytes: number; duration_ms: number
}
export interface Setting {
  name: string; value: unknown; default?: unknown
  source: { type: 'default' | 'preset' | 'file' | 'environment'; name?: string }; variable?: string
  is_secret: boolean; is_set: boolean; description?: string
}
export interface SettingsReport { file: string | null; settings: Setting[] }
export interface Simulation {
  outcome: 'allowed' | 'refused'; blocked_by: BlockingRule | null; error?: RecordedError
  request: Record<string, unknown> | null; warnings: Warning[]; rule_trace: RuleTraceEntry[]
  routing_mode: string | null; routing_reason: string | null; routing_score: number | null
  routing_arm: string | null; targets: Target[]; shadow: Target | null; rules_position: number
}
export interface Target { provider: string; model: string }
export interface Tokens {
  input: number; cached: number; cache_write: number; output: number; reasoning: number
}
export interface ToolCall {
  id: string; time: string; user_id: number; key_id: string; group_ids: number[]; session_id: string | null
  server: string; tool: string; revision: number | null; arguments_digest: string
  verdict: 'allowed' | 'denied' | 'hidden' | 'pending_approval' | 'approved' | 'blocked' | 'not_served'
    | 'failed'
  error_code: string | null; rules: ToolCallRule[]; warnings: Warning[]; request_bytes: number
  result_bytes: number; duration_ms: number; upstream_ms: number; rules_position: number; read: string[]
}
export interface ToolCallRule {
  kind: string; id: number; name: string; action: string; origin?: RuleOrigin
}
export interface ToolCallToSend {
  server: string; tool: string; revision?: number; arguments: Record<string, unknown>
}
export interface ToolDifference { path: string; before?: unknown; after?: unknown }
export interface ToolFinding {
  check: 'hidden_text' | 'instruction_override' | 'exfiltration' | 'other_server'; path: string
  excerpt: string
}
export interface ToolHistoryEntry {
  position: number; time: string; actor: Actor; request_id: string | null; reason?: string
  event: 'seen' | 'approved' | 'rejected' | 'omitted' | 'removed' | 'returned'; revision: number | null
  status?: 'pending' | 'approved' | 'rejected'; digest?: string; definition?: Record<string, unknown>
  findings?: ToolFinding[]; diff?: ToolDifference[]
}
export interface ToolMatch {
  server?: string; tool?: string; arguments?: Record<string, unknown>; after_reading?: string[]
}
export interface ToolRefresh {
  listed: number; new: string[]; changed: string[]; removed: string[]; returned: string[]
  refused: ({ name: string; reason: string })[]
}
export interface ToolServer {
  id: number | string; name: string; url: string | null; is_enabled: boolean; auth: ToolServerAuth
  default: 'allow' | 'deny'; new_tools: 'pending' | 'approved'; changed_tools: 'block' | 'serve_approved'
  timeout_ms: number | null; max_concurrent: number | null; program?: string; tools?: number
  undecided_tools?: number; created_at?: string; updated_at?: string
}
export interface ToolServerAuth {
  type: 'none' | 'bearer' | 'header' | 'oauth' | 'passthrough'; secret_ref?: string; header?: string
  token_url?: string; client_id?: string; scope?: string; resource?: string
  on_behalf_of?: 'gateway' | 'user'
}
export interface ToolSimulation {
  outcome: 'allowed' | 'refused'
  verdict: 'allowed' | 'pending_approval' | 'denied' | 'hidden' | 'blocked' | 'not_served'
  rule: DecidingToolRule | null; error?: RecordedError; tool_call: ToolCallToSend | null; warnings: Warning[]
  rule_trace: RuleTraceEntry[]; rules_position: number; recorded?: RecordedToolCall
}
export interface Usage {
  user?: number; group?: number; key?: string; model?: string | null; provider?: string | null; rule?: string
  arm?: string; hour?: string; day?: string; name?: string | null; requests: number; errors: number
  cache_hits: number; unknown_costs: number; tokens: Tokens; cost_usd: number; ratings: number
  mean_score: number | null; signals: AnswerSignals
}
export interface User {
  id: number; name: string; plan: 'free' | 'paid'; requests_per_minute?: number | null
  tokens_per_minute?: number | null; max_concurrent?: number | null; tool_calls_per_minute?: number | null
  budget?: BudgetTerms; groups: number[]; identity?: UserIdentity; created_at: string; keys: ApiKey[]
}
export interface UserIdentity { issuer: string; subject: string }
export interface Warning { code: string; message: string; scope?: 'response' | 'tool_call' | 'tool_result' }
export interface WhatIfCopies { requests: number; cost_usd: number; unknown: number }
export interface WhatIfCost { before: number; after: number; change: number; unknown: number }
export interface WhatIfDecision {
  outcome: 'allowed' | 'refused'; error?: RecordedError; text: string | null; provider: string | null
  model: string | null; routing_mode: string | null; shadow: string | null; reply?: WhatIfReply
  rule_trace: RuleTraceEntry[]
}
export interface WhatIfDraft {
  type: 'policy' | 'user' | 'group'; id: number; name: string; action: 'add' | 'change' | 'remove'
  requests: number; changed: number; blocked: number; masked: number; warned: number; routed: number
  rules: WhatIfRule[]
}
export interface WhatIfEffects {
  blocked: number; unblocked: number; blocked_otherwise: number; masked: number; unmasked: number
  masked_otherwise: number; warned: number; unwarned: number; routed: number; over_limit: number
  within_limit: number; reply_blocked: number; reply_unblocked: number; reply_masked: number
  reply_unmasked: number; reply_warned: number; reply_unwarned: number; unchanged: number
}
export interface WhatIfExample {
  x_request_id: string; time: string; user_id: number; effects: string[]; before: WhatIfDecision
  after: WhatIfDecision
}
export interface WhatIfLimitation { code: string; message: string }
export interface WhatIfLimits {
  user: number; key: number; group: number; all: number; price: number; tokens: number; concurrency: number
  downgraded: number
}
export interface WhatIfOutcomes { allowed: number; refused: number; masked: number; warned: number }
export interface WhatIfReason { reason: string; requests: number; message?: string }
export interface WhatIfReplies { evaluated: number; not_evaluated: WhatIfReason[] }
export interface WhatIfReply { outcome: 'allowed' | 'refused'; error?: RecordedError; text: string | null }
export interface WhatIfReproduced { same: number; different: number; explained: WhatIfReason[] }
export interface WhatIfResult {
  rules_position: number; since: string; until: string; requests: number; matching: number
  is_truncated: boolean; evaluated: number; not_evaluated: WhatIfReason[]; effects: WhatIfEffects
  outcomes: { before: WhatIfOutcomes; after: WhatIfOutcomes }; cost_usd: WhatIfCost
  limits: { before: WhatIfLimits; after: WhatIfLimits; estimated: number }; replies: WhatIfReplies
  copies: { before: WhatIfCopies; after: WhatIfCopies }; drafts: WhatIfDraft[]; examples: WhatIfExample[]
  reproduced: WhatIfReproduced; tool_calls: WhatIfToolCalls; limitations: WhatIfLimitation[]
  elapsed_ms: number
}
export interface WhatIfRule {
  kind: 'routing' | 'firewall' | 'tool'; id: number; name: string; action: 'add' | 'change' | 'remove'
  before: number; after: number; changed: number
}
export interface WhatIfToolCalls {
  calls: number; is_truncated: boolean; evaluated: number; not_evaluated: WhatIfToolReason[]
  effects: WhatIfToolEffects; outcomes: { before: WhatIfToolOutcomes; after: WhatIfToolOutcomes }
  rules: WhatIfToolRuleCounts[]; examples: WhatIfToolExample[]; reproduced: WhatIfToolReproduced
}
export interface WhatIfToolDecision {
  verdict: 'allowed' | 'pending_approval' | 'denied' | 'hidden' | 'blocked' | 'not_served'
  rule: WhatIfToolRule | null; error?: RecordedError; arguments: Record<string, unknown> | null
}
export interface WhatIfToolEffects {
  newly_denied: number; newly_allowed: number; newly_needing_approval: number
  no_longer_needing_approval: number; denied_otherwise: number; masked: number; unmasked: number
  warned: number; unwarned: number; unchanged: number
}
export interface WhatIfToolExample {
  x_request_id: string; time: string; user_id: number; server: string; tool: string
  effects: ('newly_denied' | 'newly_allowed' | 'newly_needing_approval' | 'no_longer_needing_approval'
    | 'denied_otherwise' | 'masked' | 'unmasked' | 'warned' | 'unwarned')[]
  before: WhatIfToolDecision; after: WhatIfToolDecision
}
export interface WhatIfToolOutcomes {
  allowed: number; pending_approval: number; denied: number; hidden: number; blocked: number
  not_served: number
}
export interface WhatIfToolReason { reason: string; calls: number }
export interface WhatIfToolReproduced { same: number; different: WhatIfToolReason[] }
export interface WhatIfToolRule { kind: string; id: number; name: string; origin?: RuleOrigin }
export interface WhatIfToolRuleCounts {
  kind: string; id: number; name: string; origin?: RuleOrigin; newly_denied: number; newly_allowed: number
  newly_needing_approval: number
}
export type ArgumentTest = ArgumentEquals | ArgumentContains | ArgumentMatches
export type SessionStep = SessionRequest | SessionToolCall
/** The fields of forms, but for lists and objects. */
export const FORMS = {
  ApiKeyInput: { name: { maxLength: 128 }, expires_at: {} },
  BudgetInput: {
    limit_usd: { type: 'number', min: 0, max: 9000000, required: true },
    period: { options: ['day', 'week', 'month', 'total'] }, warn_ratio: { type: 'number', max: 1 },
    on_exceed: { options: ['refuse', 'downgrade'] },
  },
  GroupInput: { name: { required: true, maxLength: 128 }, description: { maxLength: 1000, empty: null } },
  OperatorInput: {
    name: { required: true, maxLength: 128 }, role: { options: ['admin', 'editor', 'auditor'] },
    expires_at: { empty: null },
  },
  PolicyInput: {
    name: { required: true, maxLength: 128 }, description: { maxLength: 1000, empty: null },
    is_enabled: { type: 'check' }, priority: { type: 'number', min: -1000, max: 1000, required: true },
    visibility: { options: ['name', 'full'] },
  },
  ToolServerAuth: {
    type: { options: ['none', 'bearer', 'header', 'oauth', 'passthrough'] }, secret_ref: { maxLength: 512 },
    header: { maxLength: 128 }, token_url: { maxLength: 2048 }, client_id: { maxLength: 512 },
    scope: { maxLength: 1024 }, resource: { maxLength: 2048 }, on_behalf_of: { options: ['gateway', 'user'] },
  },
  ToolServerInput: {
    name: { required: true, maxLength: 64 }, url: { required: true, maxLength: 2048 },
    is_enabled: { type: 'check' }, default: { options: ['allow', 'deny'] },
    new_tools: { options: ['pending', 'approved'] }, changed_tools: { options: ['block', 'serve_approved'] },
    timeout_ms: { type: 'number', min: 1, max: 86400000, empty: null },
    max_concurrent: { type: 'number', min: 1, max: 100000, empty: null },
  },
  UserChange: {
    name: { required: true, maxLength: 128 }, plan: { options: ['free', 'paid'] },
    requests_per_minute: { type: 'number', min: 1, max: 9007199254740991, empty: null },
    tokens_per_minute: { type: 'number', min: 1, max: 9007199254740991, empty: null },
    max_concurrent: { type: 'number', min: 1, max: 9007199254740991, empty: null },
    tool_calls_per_minute: { type: 'number', min: 1, max: 9007199254740991, empty: null },
  },
  UserInput: { name: { required: true, maxLength: 128 }, plan: { options: ['free', 'paid'] } },
} as const
