import {
  type Account,
  type EventLog,
  type Exchange,
  type FirewallRule,
  GatewayError,
  type GatewayRouter,
  type Host,
  type JsonObject,
  type Route,
  type RoutingRule,
  type RuleSet,
} from '../../core/contract/index.ts'
import { chatDialect } from '../../core/dialects/chat/dialect.ts'
import { routeDialect } from '../../core/dialects/route/dialect.ts'
import { type CallerSnapshot, createExchange, type RequestParser } from '../../core/http/inference.ts'
import { jsonBody } from '../../core/http/read-body.ts'
import { foldUser, rulesAt } from '../../projections/history.ts'
import type { RuleKindName } from '../../projections/rules.ts'
import { evolveUserRules, type UserRules } from '../../projections/user-rules.ts'
import { parseResponsesCall } from '../responses/dialect.ts'
import { findResponse } from '../responses/store.ts'
import type { RuleCommandSet } from '../rules/batch.ts'
import { prefixErrors } from '../rules/endpoints.ts'
import { toRecordedError } from '../trace/request-record.ts'
import type { AuditServices } from './audit-entries.ts'
import { type Draft, type Drafts, type Endpoint, readSimulation, type Simulation } from './read-simulation.ts'

/** `POST /v1/simulate`: what would become of a request, decided by the code that decides about real ones; nothing is sent. */
export function addSimulationRoute(router: GatewayRouter, services: AuditServices, host: Host): void {
  const readers = createReaders(host.log)
  router.post('/v1/simulate', async (ctx) => {
    const simulation = readSimulation(jsonBody(ctx))
    const pinned = await pinFor(simulation, ctx.account, services)
    const exchange = await createExchange(readers[simulation.endpoint], simulation.request, ctx, pinned)
    ctx.body = { data: showDecision(exchange, await decide(exchange, host)) }
  })
}

/** Resolves with why the request would be refused; undefined when it would not. */
async function decide(exchange: Exchange, host: Host): Promise<GatewayError | undefined> {
  try {
    await host.decide(exchange)
    return undefined
  } catch (error) {
    if (GatewayError.isInstance(error)) return error
    throw error
  }
}

function createReaders(log: Pick<EventLog, 'read'>): Readonly<Record<Endpoint, RequestParser>> {
  const responses: RequestParser = {
    async parseRequest(body, { account }) {
      const call = await parseResponsesCall(body, (seed) => findResponse(log, seed, account.userId))
      return call.request
    },
  }
  return { chat: chatDialect, responses, route: routeDialect }
}

/** Who asks and by which rules: now or at the moment that the simulation names, with its drafts among the rules. */
async function pinFor(
  { moment, drafts }: Simulation,
  account: Account,
  { past, desks, pin }: AuditServices,
): Promise<CallerSnapshot> {
  const hasDrafts = Object.values(drafts).some((list) => list.length > 0)
  if (moment === undefined && !hasDrafts) return pin(account)
  const { userId } = account
  const { user, book } = foldUser(userId, await past.eventsOf(userId, moment))
  return {
    // Before there was a user there was no plan: today's says what the drafts would do.
    account: { ...account, plan: user?.plan ?? account.plan, position: user?.position ?? 0 },
    rules: hasDrafts ? addDrafts(userId, book, drafts, desks) : rulesAt(userId, book),
  }
}

/** New drafts are numbered from here on, so that they come after all others of their priority, as new rules do. */
const FIRST = 2 ** 52

/** Nothing decides by it. */
const DRAFT_TIME = new Date(0).toISOString()

/**
 * A book's rules after the drafts were made real: checked, and applied as the events that they would be. A draft with an id changes the
 * rule that has it, one without is new and gets the id -1, -2, … in the order given.
 */
function addDrafts(userId: number, book: UserRules, drafts: Drafts, desks: RuleCommandSet): RuleSet {
  let next = FIRST
  const entry = { revision: book.revision, position: book.position, metadata: { time: DRAFT_TIME } }

  function add(kind: RuleKindName, { id, ...body }: Draft): void {
    const desk = desks[kind](userId, () => rulesAt(userId, book))
    const change = id === undefined ? desk.create(body) : desk.update(id, body, 'any')
    for (const event of change.decide(change.ruleId ?? next++)) evolveUserRules(book, event, entry)
  }

  for (const kind of ['routing', 'firewall'] as const) {
    for (const [place, draft] of (drafts[kind] ?? []).entries()) {
      prefixErrors(`rules.${kind}[${place}]`, () => add(kind, draft))
    }
  }
  const rules = rulesAt(userId, book)
  return { ...rules, routing: rules.routing.map(renumber), firewall: rules.firewall.map(renumber) }
}

function renumber<Rule extends RoutingRule | FirewallRule>(rule: Rule): Rule {
  return rule.id < FIRST ? rule : { ...rule, id: FIRST - rule.id - 1 }
}

/** What became of a simulated request, in the words of real answers and of the records of requests. */
function showDecision(exchange: Exchange, refusal: GatewayError | undefined): JsonObject {
  return {
    outcome: refusal === undefined ? 'allowed' : 'refused',
    blocked_by: findBlock(exchange),
    ...(refusal && { error: toRecordedError(refusal) }),
    request: refusal === undefined ? exchange.request : null,
    warnings: exchange.warnings,
    rule_trace: exchange.trace,
    ...showRoute(exchange.route),
    rules_position: exchange.rulesPosition,
  }
}

function findBlock({ trace }: Exchange): JsonObject | null {
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
