import {
  type Account,
  type Exchange,
  GatewayError,
  isJsonObject,
  type JsonObject,
  MODES,
  PLANS,
  type Static,
  StrictObject,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { NO_CLIENT } from '../../core/pipeline/decide-again.ts'
import { type CallerSnapshot, rulesPositionOf } from '../../core/pipeline/inference.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Policies } from '../../projections/policies.ts'
import type { Rules } from '../../projections/rules.ts'
import {
  createRequestDecider,
  SIMULATED_ENDPOINTS,
  showToolDecision,
  toolCallFields,
  toSimulation,
} from '../audit/index.ts'
import { CALL_VERDICTS, type ToolDecisions } from '../mcp/index.ts'
import type { RulesFileState } from './planned.ts'
import { References } from './references.ts'
import { reference } from './sections.ts'

const texts = (description: string) =>
  Type.Optional(
    Type.Union([Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }))], { description }),
  )

const name = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

const Expectations = StrictObject(
  {
    outcome: Type.Optional(
      StringEnum(['allowed', 'refused'], { description: 'Whether the request is sent to a provider.' }),
    ),
    blocked_by: name('Name of the firewall rule that blocks the request.'),
    policy: name('Name of the policy of that rule.'),
    error: name('Code of the error, such as firewall_blocked.'),
    contains: texts('Texts that the request has as it is sent.'),
    lacks: texts('Texts that it does not have, such as those that are masked.'),
    warnings: texts('Texts that occur in the warnings. An empty list: there are no warnings.'),
    applied: texts('Names of rules that do something to the request.'),
    verdict: Type.Optional(
      StringEnum(CALL_VERDICTS, { description: 'What is decided about a call of a tool.' }),
    ),
    rule: name('Name of the tool rule that decides about a call of a tool.'),
    provider: name('Provider that the request is sent to first.'),
    model: name('Model that the request is sent to first.'),
    mode: Type.Optional(StringEnum(MODES, { description: 'Routing mode.' })),
  },
  { minProperties: 1, description: 'What must happen.' },
)

const ToolCall = StrictObject(toolCallFields, { description: 'A call of a tool, in place of a request.' })

const Case = StrictObject(
  {
    name: Type.String({ minLength: 1, description: 'What the case shows.' }),
    user: Type.Optional(reference('user')),
    groups: Type.Optional(
      Type.Array(reference('group'), { description: 'Groups of the user; default: those of the file.' }),
    ),
    plan: Type.Optional(StringEnum(PLANS, { description: 'Plan of the user. Default: paid.' })),
    endpoint: Type.Optional(
      StringEnum(SIMULATED_ENDPOINTS, { description: 'Default: derived from the fields of the request.' }),
    ),
    prompt: name('Text of a chat completion request without a model, in place of a request.'),
    request: Type.Optional(
      Type.Unsafe<JsonObject>({ type: 'object', description: 'Body of the request to the endpoint.' }),
    ),
    call: Type.Optional(ToolCall),
    expect: Expectations,
  },
  { description: 'A request or a call of a tool, and what must happen to it.' },
)

/** Requests and calls of tools with expected outcomes. See docs/guides/rule-tests.md. */
export const RuleCasesSchema = StrictObject(
  { cases: Type.Array(Case, { minItems: 1, description: 'The cases.' }) },
  { $id: 'RuleCases', description: 'Requests and calls of tools with expected outcomes.' },
)

type RuleCase = Static<typeof Case>
type RuleExpectations = Static<typeof Expectations>

/** A part of the outcome that is not as expected. */
interface Mismatch {
  readonly field: string
  readonly expected: string
  readonly got: string
}

/** What must be equal. */
const COMPARED = [
  ...(['outcome', 'blocked_by', 'policy', 'error', 'provider', 'model', 'mode', 'verdict', 'rule'] as const),
] as const

/** What is only known of a request that is sent. */
const SENT = ['contains', 'lacks', 'provider', 'model', 'mode'] as const

/** Compares a simulated decision with what is expected of it. */
function checkExpectations(expect: RuleExpectations, decision: JsonObject): readonly Mismatch[] {
  const mismatches: Mismatch[] = []
  const add = (field: string, expected: unknown, got: unknown) =>
    mismatches.push({ field, expected: show(expected), got: show(got) })
  const rule = asObject(decision.rule)
  const blockedBy = asObject(decision.blocked_by)
  const [target] = asList(decision.targets)
  const actual = {
    outcome: decision.outcome,
    blocked_by: blockedBy.name,
    policy: asObject(blockedBy.origin ?? rule.origin).name,
    error: asObject(decision.error).code,
    provider: asObject(target).provider,
    model: asObject(target).model,
    mode: decision.routing_mode,
    verdict: decision.verdict,
    rule: rule.name,
  }
  const isSent = decision.outcome === 'allowed'
  for (const field of COMPARED) {
    const expected = expect[field]
    if (expected === undefined || (!isSent && isAboutSent(field))) continue
    if (actual[field] !== expected) add(field, expected, actual[field])
  }
  const missed = SENT.filter((field) => expect[field] !== undefined)
  if (!isSent && missed.length > 0)
    add(missed.join(', '), 'a request that is sent', asObject(decision.error).message)
  if (isSent) {
    const sent = JSON.stringify(decision.request ?? decision.tool_call)
    const occurs = (text: string) => sent.includes(JSON.stringify(text).slice(1, -1))
    for (const text of toList(expect.contains)) if (!occurs(text)) add('contains', text, sent)
    for (const text of toList(expect.lacks)) if (occurs(text)) add('lacks', text, sent)
  }
  const warnings = asList(decision.warnings).map((warning) => String(asObject(warning).message))
  if (Array.isArray(expect.warnings) && expect.warnings.length === 0 && warnings.length > 0)
    add('warnings', 'none', warnings.join(' '))
  for (const text of toList(expect.warnings))
    if (!warnings.some((warning) => warning.includes(text))) add('warnings', text, warnings.join(' '))
  const applied = asList(decision.rule_trace).flatMap((entry) => {
    const { name, outcome } = asObject(entry)
    return outcome === 'applied' ? [String(name)] : []
  })
  for (const name of toList(expect.applied))
    if (!applied.includes(name)) add('applied', name, applied.join(', '))
  return mismatches
}

function isAboutSent(field: string): boolean {
  return (SENT as readonly string[]).includes(field)
}

function toList(texts: string | readonly string[] | undefined): readonly string[] {
  return typeof texts === 'string' ? [texts] : (texts ?? [])
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Requests can be long. */
const MAX_SHOWN_LENGTH = 200

function show(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'none'
  const text = String(value)
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text
}

interface CaseServices extends RulesFileState {
  readonly accounts: Pick<Accounts, 'user' | 'users' | 'ownerOfKey'>
  readonly groups: Groups
  readonly policies: Policies
  readonly rules: Rules
  /** Runs the phase `decide` of all plugins. */
  decide(exchange: Exchange): Promise<void>
  /** Undefined if no plugin serves tools. */
  readonly toolDecisions: ToolDecisions | undefined
}

export interface CaseResult {
  readonly name: string
  /** Empty if all is as expected. */
  readonly mismatches: readonly Mismatch[]
}

/** Decides about the request of each case with the code that decides about real requests. */
export async function runCases(
  cases: readonly RuleCase[],
  services: CaseServices,
): Promise<readonly CaseResult[]> {
  const references = new References(services)
  const decide = createRequestDecider(services, async () => undefined)
  const results: CaseResult[] = []
  for (const ruleCase of cases) {
    const { name, expect } = ruleCase
    try {
      requireOneSubject(ruleCase)
      const caller = snapshotCaseCaller(ruleCase, references, services)
      const decision = ruleCase.call
        ? await decideToolCall(ruleCase.call, caller, services.toolDecisions)
        : await decide(toCaseSimulation(ruleCase), { requestId: 'req_test', account: caller.account }, caller)
      results.push({ name, mismatches: checkExpectations(expect, decision) })
    } catch (error) {
      if (!GatewayError.isInstance(error)) throw error
      results.push({ name, mismatches: [{ field: 'case', expected: 'valid', got: error.message }] })
    }
  }
  return results
}

function toCaseSimulation({ endpoint, prompt = '', request }: RuleCase) {
  const body = request ?? { messages: [{ role: 'user', content: prompt }] }
  return toSimulation(body, { endpoint, as_of: undefined, drafts: {}, policyDrafts: [] })
}

/** Throws 400 if a case is about more than one thing. */
function requireOneSubject({ call, prompt, request }: RuleCase): void {
  if (call === undefined || (prompt ?? request) === undefined) return
  throw new GatewayError('validation_error', 'Give either call, or prompt or request.')
}

/** Files of rules have no tool servers: the tool counts as served. */
async function decideToolCall(
  { server, tool, arguments: args = {}, read = [] }: NonNullable<RuleCase['call']>,
  caller: CallerSnapshot,
  decisions: ToolDecisions | undefined,
): Promise<JsonObject> {
  if (decisions === undefined)
    throw new GatewayError('unsupported_parameter', 'No listed plugin decides about calls of tools.')
  const call = { server, tool, arguments: args, read, isAssumedServed: true } as const
  const decision = await decisions.decide({ ...caller, client: NO_CLIENT }, call)
  const shown = showToolDecision(call, decision, rulesPositionOf(caller))
  const block = shown.rule_trace.find(({ action, outcome }) => action === 'block' && outcome === 'applied')
  return { ...shown, blocked_by: decision.verdict === 'blocked' ? block : undefined }
}

/** The policies and rules of the user of a case; without one, of a user in no group and without rules. */
function snapshotCaseCaller(
  { user, groups, plan }: RuleCase,
  references: References,
  services: CaseServices,
): CallerSnapshot {
  const userId = user === undefined ? 0 : requireFound(references.findUser(user))
  const groupIds = groups?.map((group) => requireFound(references.findGroup(group))).sort((a, b) => a - b)
  const known = services.accounts.user(userId)
  const account: Account = {
    userId,
    name: known?.name ?? 'nobody',
    plan: plan ?? known?.plan ?? 'paid',
    keyId: '',
    position: known?.position ?? 0,
  }
  return {
    account,
    policies: services.policies.ruleSetsFor(userId, groupIds ?? services.groups.groupsOf(userId)),
    policyPosition: services.policies.position(),
    rules: services.rules.of(userId),
  }
}

/** Throws the issue of a reference. */
function requireFound(found: number | string | object): number {
  if (typeof found === 'number') return found
  throw new GatewayError('not_found', String(found))
}
