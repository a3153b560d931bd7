import {
  type Account,
  data,
  type EventLog,
  type Exchange,
  endpoint,
  type FirewallRule,
  GatewayError,
  type Host,
  type JsonObject,
  type Route,
  type RoutingRule,
  type RuleSet,
  user,
} from '../../core/contract/index.ts'
import { chatDialect } from '../../core/dialects/chat/dialect.ts'
import { messagesDialect } from '../../core/dialects/messages/dialect.ts'
import { routeDialect } from '../../core/dialects/route/dialect.ts'
import type { RuleEvent } from '../../core/events/domain-events.ts'
import type { CallerSnapshot, RequestParser } from '../../core/pipeline/inference.ts'
import { createUnsentExchange } from '../../core/pipeline/unsent-exchange.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { toPastRuleSet } from '../../projections/history.ts'
import { RULE_KINDS, type RuleKindName } from '../../projections/rules.ts'
import { evolveUserRules, type UserRules } from '../../projections/user-rules.ts'
import { createResponsesParser } from '../responses/dialect.ts'
import { findResponse } from '../responses/store.ts'
import type { RuleCommandSet } from '../rules/batch.ts'
import { checkPatternSize } from '../rules/pattern-size.ts'
import { prefixErrors } from '../rules/rule-commands.ts'
import {
  parseSimulation,
  type RuleDraft,
  type RuleDrafts,
  type SimulatedEndpoint,
  type Simulation,
} from './parse-simulation.ts'
import type { AuditServices } from './services.ts'
import { showSimulatedError } from './simulated-error.ts'
import { SimulationRequest, SimulationSchema, simulationExamples } from './simulation-schemas.ts'

/**
 * `POST /v1/simulate`: shows how a request would be handled. Uses the code that decides about real requests,
 * and sends nothing to a provider.
 */
export function createSimulationEndpoint(services: AuditServices, host: Host) {
  const parsers = createRequestParsers(host.log, services.accounts)
  return endpoint({
    method: 'POST',
    path: '/v1/simulate',
    access: user(),
    operationId: 'simulate',
    summary: 'Simulates an inference request without calling a model.',
    description: 'The body is that of the simulated endpoint, with the fields endpoint, as_of and rules.',
    tags: ['audit'],
    body: SimulationRequest,
    parseBody: parseSimulation,
    examples: simulationExamples,
    responses: { 200: { description: 'What would happen.', body: data(SimulationSchema) } },
    errors: ['missing_parameter', 'unsupported_parameter', 'invalid_rule', 'not_found', 'validation_error'],
    async handle(call) {
      const { account, body: simulation } = call
      const caller = await snapshotSimulatedCaller(simulation, account, services)
      const parser = parsers[simulation.endpoint]
      const exchange = await createUnsentExchange(parser, simulation.request, call, caller)
      const error = await decideExchange(exchange, host)
      return { status: 200, body: { data: showDecision(exchange, error) } }
    },
  })
}

/**
 * Resolves with the error that would refuse the request, undefined if it would be allowed. See
 * docs/decisions/rules.md, "Simulations run the plugins' own decide".
 */
async function decideExchange(exchange: Exchange, host: Host): Promise<GatewayError | undefined> {
  try {
    await host.decide(exchange)
    return undefined
  } catch (error) {
    if (GatewayError.isInstance(error)) return error
    throw error
  }
}

function createRequestParsers(
  log: Pick<EventLog, 'read'>,
  accounts: Pick<Accounts, 'ownerOfKey'>,
): Readonly<Record<SimulatedEndpoint, RequestParser>> {
  const responses = createResponsesParser((key, userId) => findResponse(log, accounts, key, userId))
  return { chat: chatDialect, responses, messages: messagesDialect, route: routeDialect }
}

/**
 * The caller's account and rules, now or as of the simulation's point in time, with its drafts added to the
 * rules.
 */
async function snapshotSimulatedCaller(
  { asOf, drafts }: Simulation,
  account: Account,
  { readCallerAt, commands, snapshotCaller }: AuditServices,
): Promise<CallerSnapshot> {
  const hasDrafts = Object.values(drafts).some((list) => list.length > 0)
  if (asOf === undefined && !hasDrafts) return snapshotCaller(account)
  const { userId } = account
  const { user, rules, policies, policyPosition } = await readCallerAt(userId, asOf)
  return {
    policies,
    policyPosition,
    // Before the user existed there was no plan: the current one shows what the drafts would do.
    account: { ...account, plan: user?.plan ?? account.plan, position: user?.position ?? 0 },
    rules: hasDrafts ? await addDrafts(userId, rules, drafts, commands) : toPastRuleSet(userId, rules),
  }
}

/**
 * Higher than every real id, so that new drafts sort after all rules of the same priority, as new rules do.
 */
const FIRST_DRAFT_ID = 2 ** 52

/** Arbitrary: no decision depends on the time of a rule. */
const DRAFT_TIME = new Date(0).toISOString()

/**
 * Adds drafts to a user's rules by validating them and applying the events that they would cause. A draft
 * with an id changes the stored rule with that id. A draft without an id is a new rule; in the result, new
 * rules have the ids -1, -2, … in the order of the drafts. See docs/decisions/rules.md, "Drafts are added to
 * the stored rules".
 */
async function addDrafts(
  userId: number,
  userRules: UserRules,
  drafts: RuleDrafts,
  commandSet: RuleCommandSet,
): Promise<RuleSet> {
  let nextId = FIRST_DRAFT_ID
  const { revision, position } = userRules
  const record = { revision, position, metadata: { time: DRAFT_TIME } }
  const stored = toPastRuleSet(userId, userRules)
  const pendingEvents: RuleEvent[] = []
  const slice = createCooperativeYield()

  function addDraft(kind: RuleKindName, { id, ...body }: RuleDraft): void {
    const currentRules = () => toPastRuleSet(userId, userRules)
    const commands = commandSet[kind](userId, currentRules)
    const change = id === undefined ? commands.create(body) : commands.update(id, body, 'any')
    const events = change.decide(change.ruleId ?? nextId++)
    pendingEvents.push(...events)
    for (const event of events) evolveUserRules(userRules, event, record)
  }

  // Reading a body with many drafts takes a good part of a slice.
  await slice.yieldNow()
  for (const kind of RULE_KINDS) {
    for (const [index, draft] of (drafts[kind] ?? []).entries()) {
      prefixErrors(`rules.${kind}[${index}]`, () => addDraft(kind, draft))
      if (slice.isDue()) await slice.yieldNow()
    }
  }
  await slice.yieldNow()
  checkPatternSize(stored, pendingEvents)
  const rules = toPastRuleSet(userId, userRules)
  // The patterns of drafts are compiled like those of stored rules.
  for (const kind of RULE_KINDS) await commandSet[kind](userId, () => rules).prepare()
  return { ...rules, routing: rules.routing.map(renumberDraft), firewall: rules.firewall.map(renumberDraft) }
}

function renumberDraft<Rule extends RoutingRule | FirewallRule>(rule: Rule): Rule {
  return rule.id < FIRST_DRAFT_ID ? rule : { ...rule, id: FIRST_DRAFT_ID - rule.id - 1 }
}

/** Formats the decision with the fields of real responses and request records. */
function showDecision(exchange: Exchange, error: GatewayError | undefined): JsonObject {
  return {
    outcome: error === undefined ? 'allowed' : 'refused',
    blocked_by: findBlockingRule(exchange),
    ...(error && { error: showSimulatedError(error) }),
    request: error === undefined ? exchange.request : null,
    warnings: exchange.warnings,
    rule_trace: exchange.trace,
    ...showRoute(exchange.route),
    rules_position: exchange.rulesPosition,
  }
}

function findBlockingRule({ trace }: Exchange): JsonObject | null {
  const entry = trace.find(({ kind, action }) => kind === 'firewall' && action === 'block')
  return entry === undefined ? null : { rule_id: entry.rule_id, name: entry.name }
}

function showRoute(route: Route | undefined): JsonObject {
  return {
    routing_mode: route?.mode ?? null,
    routing_reason: route?.reason ?? null,
    routing_score: route?.score ?? null,
    targets: (route?.targets ?? []).map(({ provider, model }) => ({ provider, model })),
  }
}
