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
  type Static,
  Type,
  user,
} from '../../core/contract/index.ts'
import { decideAgain, type UnsentCall } from '../../core/pipeline/decide-again.ts'
import type { CallerSnapshot, RequestParser } from '../../core/pipeline/inference.ts'
import { parseAsOf } from '../../core/util/as-of.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { isOwnPolicy } from '../../projections/operator-scope.ts'
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
  AdminSimulationRequest,
  adminSimulationExamples,
  type SIMULATED_ENDPOINTS,
  SimulationFields,
  SimulationRequest,
  SimulationSchema,
  simulationExamples,
} from './schemas.ts'
import type { AuditServices } from './services.ts'
import { showDecision } from './show-decision.ts'
import {
  parseToolSimulation,
  simulateToolCall,
  type ToolSimulation,
  ToolSimulationSchema,
  toToolSimulation,
} from './simulate-tool-call.ts'
import {
  type CallerTerms,
  completeFromRecord,
  createUnknownPolicyError,
  snapshotSimulatedCaller,
} from './simulated-caller.ts'

/** The endpoint that the simulated request would be sent to. */
type SimulatedEndpoint = (typeof SIMULATED_ENDPOINTS)[number]

const parseFields = createLazyParser(SimulationFields)

/** A parsed body of `POST /v1/simulate` about a request. */
interface Simulation extends CallerTerms {
  readonly endpoint: SimulatedEndpoint
  /** The body that the endpoint would receive. */
  readonly request: JsonObject
}

/**
 * Parses the body of `POST /v1/simulate`: the body of an inference request with the additional fields
 * `endpoint`, `as_of` and `rules`. Throws 400 naming the invalid field. See docs/decisions/rules.md, "A
 * simulated request is the request itself, with as_of and rules beside its fields".
 */
function parseSimulation(body: JsonObject): Simulation | ToolSimulation {
  if (body.tool_call !== undefined) return parseToolSimulation(body)
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
  const simulate = createSimulator(services, host, false)
  return endpoint({
    method: 'POST',
    path: '/v1/simulate',
    access: user(),
    operationId: 'simulate',
    summary: 'Simulates an inference request, or a call of a tool, without making it.',
    description:
      'The body is that of the simulated endpoint, with the fields endpoint, as_of, key_id, request_id and ' +
      'rules; or a call of a tool in tool_call.',
    tags: ['audit'],
    body: SimulationRequest,
    parseBody: parseSimulation,
    examples: simulationExamples,
    responses: { 200: { description: 'What would happen.', body: data(AnySimulation) } },
    errors: SIMULATION_ERRORS,
    handle: (call) => simulate(call, call.body),
  })
}

/**
 * `POST /admin/simulate`: shows how a request of any user would be handled, also with drafts of rules of
 * policies.
 */
export function createAdminSimulationEndpoint(services: AuditServices, host: Host) {
  const simulate = createSimulator(services, host, true)
  return endpoint({
    method: 'POST',
    path: '/admin/simulate',
    access: operator('auditor', 'filtered'),
    operationId: 'simulateForUser',
    summary: 'Simulates an inference request of a user, or a call of a tool, without making it.',
    tags: ['policies'],
    body: AdminSimulationRequest,
    examples: adminSimulationExamples,
    responses: { 200: { description: 'What would happen.', body: data(AnySimulation) } },
    errors: SIMULATION_ERRORS,
    async handle(call) {
      const { user_id: userId, drafts = {}, ...asked } = call.body
      const { request, tool_call, endpoint, as_of, key_id, request_id } = asked
      const user = services.accounts.user(userId)
      if (call.scope) requireInScope(call.scope, call.body, services)
      // A deleted user has a past.
      if (user === undefined && as_of === undefined && request_id === undefined)
        throw userNotFoundError(userId)
      const { name, plan, position } = user ?? { name: '', plan: 'free', position: 0 }
      const { policies = [], ...own } = drafts
      const terms = { endpoint, as_of, key_id, request_id, drafts: own, policyDrafts: policies }
      if ((request === undefined) === (tool_call === undefined))
        throw new GatewayError('missing_parameter', 'Send either request or tool_call.', { param: 'request' })
      const simulation = tool_call ? toToolSimulation(tool_call, terms) : toSimulation(request ?? {}, terms)
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

const SIMULATION_ERRORS = [
  'missing_parameter',
  'unsupported_parameter',
  'invalid_rule',
  'not_found',
  'validation_error',
] as const

const AnySimulation = Type.Union([SimulationSchema, ToolSimulationSchema], {
  $id: 'AnySimulation',
  description: 'How the request, or the call of a tool, would be handled.',
})

function createSimulator(services: AuditServices, host: Host, isOperator: boolean) {
  const decide = createRequestDecider(host, services.findResponse)
  return async (
    call: SimulatedCall,
    asked: Simulation | ToolSimulation,
    scope?: OperatorScope,
  ): Promise<EndpointResponse> => {
    if ('toolCall' in asked) return simulateToolCall(asked, call, services, isOperator, scope)
    const { kept, ...simulation } = await findRecorded(asked, call.account, services, scope)
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

type SimulatedCall = UnsentCall & Pick<Exchange, 'client'>

/** Takes the kept model of a recorded request of the user, too. */
async function findRecorded(
  simulation: Simulation,
  { userId }: Account,
  { findRequest }: AuditServices,
  scope: OperatorScope | undefined,
): Promise<Simulation & { readonly kept?: ReturnType<typeof findRecordedKept> }> {
  if (simulation.requestId === undefined) return simulation
  const record = await findRequest(simulation.requestId)
  if (record?.userId !== userId || (scope && !isRecordInScope(record, scope))) return simulation
  return { ...completeFromRecord(simulation, record), kept: findRecordedKept(record) }
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
