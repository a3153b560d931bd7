import {
  type Account,
  data,
  type EndpointResponse,
  type Exchange,
  endpoint,
  GatewayError,
  type Host,
  type JsonObject,
  type OperatorScope,
  operator,
  type Rule,
  type RuleSet,
  type Static,
  user,
} from '../../core/contract/index.ts'
import { anyRevision } from '../../core/http/change-headers.ts'
import { decideAgain, type UnsentCall } from '../../core/pipeline/decide-again.ts'
import type { CallerSnapshot, RequestParser } from '../../core/pipeline/inference.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { createCooperativeYield } from '../../core/util/cooperative-yield.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { toAccount } from '../../projections/accounts.ts'
import type { CallerAt } from '../../projections/callers.ts'
import { evolveUserRules, type RuleEvent } from '../../projections/events/rules.ts'
import type { User } from '../../projections/events/users.ts'
import { toPastRuleSet } from '../../projections/history.ts'
import { isOwnPolicy } from '../../projections/operator-scope.ts'
import { RULE_KINDS, type RuleKindName, toUserRules } from '../../projections/rules.ts'
import { checkEndpoint, userNotFoundError } from '../auth/index.ts'
import {
  chatDialect,
  completionsDialect,
  embeddingsDialect,
  moderationsDialect,
  routeDialect,
} from '../dispatch/index.ts'
import { findRecordedKept, isRecordInScope, RecordedKept } from '../ledger/index.ts'
import { messagesDialect } from '../messages/index.ts'
import { createResponsesParser, type Responses } from '../responses/index.ts'
import {
  checkPatternSize,
  prefixErrors,
  prefixRejection,
  type RuleChange,
  type RuleCommandSet,
} from '../rules/index.ts'
import {
  AdminSimulationRequest,
  adminSimulationExamples,
  type Draft,
  type DraftsByKind,
  type PolicyDraftSchema,
  type SIMULATED_ENDPOINTS,
  SimulationFields,
  SimulationRequest,
  SimulationSchema,
  simulationExamples,
} from './schemas.ts'
import type { AuditServices } from './services.ts'
import { showDecision } from './show-decision.ts'

/**
 * Higher than every real id, so that new drafts sort after all rules of the same priority, as new rules do.
 */
export const FIRST_DRAFT_ID = 2 ** 52

/** Arbitrary: no decision depends on the time of a rule. */
const DRAFT_TIME = new Date(0).toISOString()

/**
 * Adds drafts to the rules of an owner by validating them and applying the events that they would cause. A
 * draft with an id changes the stored rule with that id. A draft without an id is a new rule; in the result,
 * new rules have the ids -1, -2, … in the order of the drafts. See docs/decisions/rules.md, "Drafts are added
 * to the stored rules".
 */
async function addDrafts(
  stored: RuleSet,
  drafts: RuleDrafts,
  commandSet: RuleCommandSet,
  path: string,
): Promise<RuleSet> {
  let nextId = FIRST_DRAFT_ID
  const { ownerId, origin, position } = stored
  const draftedRules = toUserRules(stored)
  const record = { revision: -1, position, metadata: { time: DRAFT_TIME } }
  const draftedSet = (): RuleSet => ({
    ...toPastRuleSet(ownerId, draftedRules),
    ...(origin && { origin }),
  })
  const pendingEvents: RuleEvent[] = []
  const changes: { readonly path: string; readonly change: RuleChange }[] = []
  const slice = createCooperativeYield()

  function addDraft(kind: RuleKindName, { id, ...body }: RuleDraft, draftPath: string): void {
    const commands = commandSet[kind](ownerId, draftedSet)
    const change = id === undefined ? commands.create(body) : commands.update(id, body, anyRevision)
    changes.push({ path: draftPath, change })
    const events = change.decide(change.ruleId ?? nextId++)
    pendingEvents.push(...events)
    for (const event of events) evolveUserRules(draftedRules, event, record)
  }

  // Reading a body with many drafts takes a good part of a slice.
  await slice.yieldNow()
  for (const kind of RULE_KINDS) {
    for (const [index, draft] of (drafts[kind] ?? []).entries()) {
      const draftPath = `${path}.${kind}[${index}]`
      prefixErrors(draftPath, () => addDraft(kind, draft, draftPath))
      if (slice.isDue()) await slice.yieldNow()
    }
  }
  await slice.yieldNow()
  checkPatternSize(stored, pendingEvents)
  // What a write would refuse is refused here, too.
  for (const each of changes) await prefixRejection(each.path, each.change)
  const rules = draftedSet()
  // The patterns of drafts are compiled like those of stored rules.
  for (const kind of RULE_KINDS) await commandSet[kind](ownerId, () => rules).prepare()
  const { routing, firewall, tool } = rules
  return {
    ...rules,
    routing: routing.map(renumberDraft),
    firewall: firewall.map(renumberDraft),
    tool: tool.map(renumberDraft),
  }
}

function renumberDraft<Kind extends Rule>(rule: Kind): Kind {
  return rule.id < FIRST_DRAFT_ID ? rule : { ...rule, id: showDraftId(rule.id) }
}

/** Returns an id as it is shown: those of drafts are -1, -2, … */
export function showDraftId(id: number): number {
  return id < FIRST_DRAFT_ID ? id : FIRST_DRAFT_ID - id - 1
}

/** The endpoint that the simulated request would be sent to. */
type SimulatedEndpoint = (typeof SIMULATED_ENDPOINTS)[number]

/** A new rule as it would be created. With an `id`, a change to the stored rule with that id. */
type RuleDraft = Static<typeof Draft>

type RuleDrafts = Static<typeof DraftsByKind>

type PolicyDraft = Static<typeof PolicyDraftSchema>

const parseFields = createLazyParser(SimulationFields)

/** A parsed body of `POST /v1/simulate`. */
interface Simulation {
  readonly endpoint: SimulatedEndpoint
  /** The body that the endpoint would receive. */
  readonly request: JsonObject
  /** Undefined for the current rules and plan. */
  readonly asOf: AsOf | undefined
  readonly keyId: string | undefined
  readonly requestId: string | undefined
  readonly drafts: RuleDrafts
  readonly policyDrafts: readonly PolicyDraft[]
}

/**
 * Parses the body of `POST /v1/simulate`: the body of an inference request with the additional fields
 * `endpoint`, `as_of` and `rules`. Throws 400 naming the invalid field. See docs/decisions/rules.md, "A
 * simulated request is the request itself, with as_of and rules beside its fields".
 */
function parseSimulation(body: JsonObject): Simulation {
  const { endpoint, as_of, key_id, request_id, rules = {}, ...request } = parseFields(body)
  return toSimulation(request, { endpoint, as_of, key_id, request_id, drafts: rules, policyDrafts: [] })
}

/** Throws 400 if `as_of` is invalid. */
export function toSimulation(
  request: JsonObject,
  { endpoint, as_of, key_id, request_id, drafts, policyDrafts }: SimulationTerms,
): Simulation {
  return {
    endpoint: endpoint ?? detectEndpoint(request),
    request,
    asOf: as_of === undefined ? undefined : parseAsOf(as_of, 'as_of'),
    keyId: key_id,
    requestId: request_id,
    drafts,
    policyDrafts,
  }
}

interface SimulationTerms extends Pick<Simulation, 'drafts' | 'policyDrafts'> {
  readonly endpoint: SimulatedEndpoint | undefined
  readonly as_of: string | number | undefined
  readonly key_id?: string | undefined
  readonly request_id?: string | undefined
}

/** Detects the endpoint by a field that only one of them has. */
function detectEndpoint(request: JsonObject): SimulatedEndpoint {
  if (request.system !== undefined) return 'messages'
  if (request.messages !== undefined) return 'chat'
  if (request.input !== undefined) return 'responses'
  return request.prompt !== undefined ? 'route' : 'chat'
}

/**
 * `POST /v1/simulate`: shows how a request would be handled. Uses the code that decides about real requests,
 * and sends nothing to a provider.
 */
export function createSimulationEndpoint(services: AuditServices, host: Host) {
  const simulate = createSimulator(services, host)
  return endpoint({
    method: 'POST',
    path: '/v1/simulate',
    access: user(),
    operationId: 'simulate',
    summary: 'Simulates an inference request without calling a model.',
    description:
      'The body is that of the simulated endpoint, with the fields endpoint, as_of, key_id, request_id and ' +
      'rules.',
    tags: ['audit'],
    body: SimulationRequest,
    parseBody: parseSimulation,
    examples: simulationExamples,
    responses: { 200: { description: 'What would happen.', body: data(SimulationSchema) } },
    errors: SIMULATION_ERRORS,
    handle: (call) => simulate(call, call.body),
  })
}

/**
 * `POST /admin/simulate`: shows how a request of any user would be handled, also with drafts of rules of
 * policies.
 */
export function createAdminSimulationEndpoint(services: AuditServices, host: Host) {
  const simulate = createSimulator(services, host)
  return endpoint({
    method: 'POST',
    path: '/admin/simulate',
    access: operator('auditor', 'filtered'),
    operationId: 'simulateForUser',
    summary: 'Simulates an inference request of a user without calling a model.',
    tags: ['policies'],
    body: AdminSimulationRequest,
    examples: adminSimulationExamples,
    responses: { 200: { description: 'What would happen.', body: data(SimulationSchema) } },
    errors: SIMULATION_ERRORS,
    async handle(call) {
      const { user_id: userId, request, endpoint, as_of, key_id, request_id, drafts = {} } = call.body
      const user = services.accounts.user(userId)
      if (call.scope) requireInScope(call.scope, call.body, services)
      // A deleted user has a past.
      if (user === undefined && as_of === undefined && request_id === undefined)
        throw userNotFoundError(userId)
      const { name, plan, position } = user ?? { name: '', plan: 'free', position: 0 }
      const { policies = [], ...own } = drafts
      const terms = { endpoint, as_of, key_id, request_id, drafts: own, policyDrafts: policies }
      const simulation = toSimulation(request, terms)
      const account = { userId, name, plan, keyId: '', position }
      return simulate({ ...call, account }, simulation, call.scope)
    },
  })
}

/** Throws 404 for users and policies that are not in the scope, and 403 for another time. */
function requireInScope(
  scope: OperatorScope,
  { user_id, drafts, as_of }: Static<typeof AdminSimulationRequest>,
  { policies }: AuditServices,
): void {
  if (!scope.hasUser(user_id)) throw userNotFoundError(user_id)
  if (as_of !== undefined) {
    // The user may have been in other groups then.
    const message = 'as_of needs an operator without a scope.'
    throw new GatewayError('scope_exceeded', message, { param: 'as_of' })
  }
  for (const [index, { policy_id: id }] of drafts?.policies?.entries() ?? []) {
    const policy = policies.policy(id)
    if (policy === undefined || !isOwnPolicy(policy, scope)) throw createUnknownPolicyError(index, id)
  }
}

function createUnknownPolicyError(index: number, id: number): GatewayError {
  return new GatewayError('not_found', `drafts.policies[${index}]: policy ${id} was not found.`)
}

const SIMULATION_ERRORS = [
  'missing_parameter',
  'unsupported_parameter',
  'invalid_rule',
  'not_found',
  'validation_error',
] as const

function createSimulator(services: AuditServices, host: Host) {
  const decide = createRequestDecider(host, services.findResponse)
  return async (call: UnsentCall, asked: Simulation, scope?: OperatorScope): Promise<EndpointResponse> => {
    const { kept, ...simulation } = await completeFromRecord(asked, call.account, services, scope)
    const { requestId = call.requestId, asOf } = simulation
    const { past, ...caller } = await snapshotSimulatedCaller(simulation, call.account, services)
    const decideAsThen = async (exchange: Exchange) => {
      if (simulation.keyId !== undefined) checkEndpoint(caller.account, PATHS[simulation.endpoint])
      RecordedKept.set(exchange, kept)
      await services.replay?.prepare(exchange, asOf && past, simulation.requestId !== undefined)
      await host.decide(exchange)
    }
    const body = { data: await decide(simulation, { ...call, requestId }, caller, decideAsThen) }
    return { status: 200, body }
  }
}

/** Where the requests of each endpoint are sent. */
const PATHS: Readonly<Record<SimulatedEndpoint, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  route: '/route',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  moderations: '/v1/moderations',
}

/**
 * Takes the key, the position and the kept model of a recorded request of the user, unless others are asked
 * for.
 */
async function completeFromRecord(
  simulation: Simulation,
  { userId }: Account,
  { findRequest }: AuditServices,
  scope: OperatorScope | undefined,
): Promise<Simulation & { readonly kept?: ReturnType<typeof findRecordedKept> }> {
  const { requestId, asOf, keyId, drafts, policyDrafts } = simulation
  if (requestId === undefined) return simulation
  const record = await findRequest(requestId)
  if (record?.userId !== userId || (scope && !isRecordInScope(record, scope))) return simulation
  const kept = findRecordedKept(record)
  if (asOf !== undefined || hasRules(drafts) || policyDrafts.length > 0) return { ...simulation, kept }
  const position: AsOf = { type: 'position', position: record.rulesPosition, param: 'request_id' }
  return {
    ...simulation,
    kept,
    asOf: position,
    keyId: keyId ?? (record.keyId === '' ? undefined : record.keyId),
  }
}

function hasRules(drafts: RuleDrafts): boolean {
  return Object.values(drafts).some((list) => list.length > 0)
}

/** Returns a function that decides about a request as for a caller, as `host` by default, and shows how. */
export function createRequestDecider(host: Pick<Host, 'decide'>, findResponse: Responses['find']) {
  const parsers = createRequestParsers(findResponse)
  return async (
    { endpoint, request }: Pick<Simulation, 'endpoint' | 'request'>,
    call: UnsentCall,
    caller: CallerSnapshot,
    decide: Host['decide'] = host.decide,
  ): Promise<JsonObject> => {
    const { exchange, error } = await decideAgain(parsers[endpoint], request, call, caller, { decide })
    return showDecision(exchange, error)
  }
}

/** Returns the parsers of the bodies of all endpoints that can be simulated. */
export function createRequestParsers(
  findResponse: Responses['find'],
): Readonly<Record<SimulatedEndpoint, RequestParser>> {
  const responses = createResponsesParser(findResponse)
  return {
    ...{ chat: chatDialect, responses, messages: messagesDialect, route: routeDialect },
    ...{ completions: completionsDialect, embeddings: embeddingsDialect, moderations: moderationsDialect },
  }
}

/**
 * The caller's account and rules, now or as of the simulation's point in time, with its drafts added to the
 * rules.
 */
async function snapshotSimulatedCaller(
  { asOf, keyId, drafts, policyDrafts }: Simulation,
  account: Account,
  services: AuditServices,
): Promise<CallerSnapshot & { readonly past?: CallerAt }> {
  const { callers, commands } = services
  const hasDrafts = hasRules(drafts)
  const { userId } = account
  if (asOf === undefined && !hasDrafts && policyDrafts.length === 0)
    return callers.snapshot(accountOfKey(account, keyId, services.accounts.user(userId)))
  const past = await callers.at(userId, asOf)
  const { user, rules, policies, policyPosition } = past
  if (user === undefined && services.accounts.user(userId) === undefined) throw userNotFoundError(userId)
  const stored = toPastRuleSet(userId, rules)
  return {
    // Before the user existed there was no plan: the current one shows what the drafts would do.
    account: {
      ...accountOfKey(account, keyId, user),
      plan: user?.plan ?? account.plan,
      position: user?.position ?? 0,
    },
    past,
    policies: await addPolicyDrafts(policies, policyDrafts, services),
    policyPosition,
    rules: hasDrafts ? await addDrafts(stored, drafts, commands, 'rules') : stored,
  }
}

/** The account of a request with a key of the user. Throws 404 if the user had no such key then. */
function accountOfKey(account: Account, keyId: string | undefined, user: User | undefined): Account {
  if (keyId === undefined || keyId === account.keyId) return account
  const key = user?.keys.find(({ id }) => id === keyId)
  if (user !== undefined && key !== undefined) return toAccount(user, key)
  throw new GatewayError('not_found', `key_id: key ${keyId} of user ${account.userId} was not found.`)
}

/** Adds drafts to the rules of policies, which then apply to the request whatever their settings are. */
async function addPolicyDrafts(
  ruleSets: readonly RuleSet[],
  drafts: readonly PolicyDraft[],
  { policies, policyCommands }: AuditServices,
): Promise<readonly RuleSet[]> {
  let drafted = ruleSets
  const order = new Map(policies.policies().map((known, place) => [known.id, place]))
  for (const [index, { policy_id: id, ...rules }] of drafts.entries()) {
    const policy = policies.policy(id)
    const path = `drafts.policies[${index}]`
    if (policy === undefined) throw createUnknownPolicyError(index, id)
    const stored = drafted.find(({ ownerId }) => ownerId === id) ?? policies.rulesOf(id)
    const changed = await addDrafts(stored, rules, policyCommands, path)
    drafted = [...drafted.filter(({ ownerId }) => ownerId !== id), changed].sort(
      (a, b) => (order.get(a.ownerId) ?? 0) - (order.get(b.ownerId) ?? 0),
    )
  }
  return drafted
}
