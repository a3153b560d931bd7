import {
  type Account,
  type Admission,
  type Dialect,
  type EndedExchange,
  type GatewayContext,
  GatewayError,
  type Host,
  isJsonObject,
  type JsonObject,
  type PluginParts,
  type Position,
  type Reply,
  type RequestContext,
  type RuleSet,
  requireAccount,
} from '../contract/index.ts'
import type { BodyQuota } from '../http/body-quota.ts'
import { enterEndpoint } from '../http/endpoints.ts'
import { toErrorInStyle } from '../http/error-words.ts'
import { createBodyReader, requireJsonObject } from '../http/read-body.ts'
import { composeStages, type Step } from '../http/steps.ts'
import { chain, inTurn, isPromiseLike, type MaybePromise } from '../util/maybe-promise.ts'
import { keepReceived } from '../util/received-json.ts'
import { composeAdmission } from './admission.ts'
import type { PluginStep } from './load.ts'
import { releaseReply } from './read-reply.ts'
import { type OpenExchange, type RecordFailure, type ResponderParts, respond } from './respond.ts'
import type { InferenceEndpoint } from './served-endpoints.ts'
import { recordUnreadCost } from './usage-recorder.ts'

export interface InferenceParts extends ResponderParts {
  readonly callers: CallerSource
  /** Maximum size of a request body, in bytes. */
  readonly bodyLimit: number
  readonly bodyQuota: BodyQuota
}

/** The caller's account, policies and rules at one point in time. */
export interface CallerSnapshot {
  readonly account: Account
  /** The rules of the policies that apply to the caller, in evaluation order. */
  readonly policies: readonly RuleSet[]
  /** Log position of the newest event about policies; 0 if there was none. */
  readonly policyPosition: Position
  readonly rules: RuleSet
}

/** Where the accounts and rules of callers come from. */
export interface CallerSource {
  /** Returns them as they are now. */
  snapshot(account: Account): CallerSnapshot
}

/** The log position from which on the same rules apply to the caller, as `Exchange.rulesPosition`. */
export function rulesPositionOf({ account, rules, policyPosition }: Positions): Position {
  return Math.max(rules.position, account.position, policyPosition)
}

type Positions = Pick<CallerSnapshot, 'policyPosition'> & {
  readonly account: Pick<Account, 'position'>
  readonly rules: Pick<RuleSet, 'position'>
}

/**
 * Composes the way of a request to one inference endpoint, from its headers to its response, once at the
 * start. In each phase the plugins run in the order in which they are listed.
 */
export function composeInference(
  { endpoint, dialect, isBuiltIn }: InferenceEndpoint,
  parts: InferenceParts,
): Step {
  const { steps, bodyLimit, bodyQuota } = parts
  const recordFailure = createFailureRecorder(dialect, parts.costOf, list(steps, 'rejected'))
  // By the headers alone. Middleware of packages has its place among the plugins.
  const admit = [{ before: enterEndpoint(endpoint, { isInference: true }) }, ...composeAdmission(steps)]
  // The body, as a canonical request with the caller's account and rules.
  const readBody = createBodyReader(bodyLimit, bodyQuota, isBuiltIn ? keepReceived : undefined)
  // Rules, limits and the route.
  const decides = [...list(steps, 'decide'), ...toSentStep(dialect), ...list(steps, 'confirm')]
  const decide = inTurn<OpenExchange>([...decides, noteDecided])
  // Each plugin around the next one; the last one, dispatch, calls the provider.
  const produce = toReplyOnion(dialect, steps)
  // Waits for the reply, lets plugins inspect it, and sends it in the client's format.
  const write = respond(dialect, parts, produce, recordFailure)
  const answer: Step = (ctx) => chain(decide(ctx.exchange), () => write(ctx))
  return composeStages([...admit, { before: readBody }], openExchange(dialect, parts, answer, recordFailure))
}

/** Returns one phase of all plugins that have it, in the listed order. */
function list<Phase extends 'decide' | 'confirm' | 'reply' | 'rejected'>(
  steps: readonly PluginStep[],
  phase: Phase,
): readonly NonNullable<PluginParts[Phase]>[] {
  return steps.flatMap(({ parts }) => parts[phase] ?? [])
}

function createFailureRecorder(
  dialect: Dialect,
  costOf: Host['costOf'],
  onRejected: readonly NonNullable<PluginParts['rejected']>[],
): RecordFailure {
  return async (ctx, exchange, thrown) => {
    const { reply } = exchange
    exchange.isAnswered = true
    recordUnreadCost(exchange, costOf)
    if (reply !== undefined) releaseReply(reply)
    const toError = (each: unknown) => toCallerError(each, dialect, exchange, () => requestedBody(ctx))
    let error = toError(thrown)
    for (const notify of onRejected) {
      try {
        await notify(exchange, error)
      } catch (replacement) {
        error = toError(replacement)
      }
    }
    return error
  }
}

/**
 * Parses the body in the client's format, snapshots the caller's account and rules, and answers. If the
 * request fails before its reply is sent, notifies the plugins before the error is answered.
 */
function openExchange(
  dialect: Dialect,
  { callers }: InferenceParts,
  answer: Step,
  recordFailure: RecordFailure,
): Step {
  async function reject(ctx: GatewayContext, exchange: OpenExchange, thrown: unknown): Promise<never> {
    const error = await recordFailure(ctx, exchange, thrown)
    if (exchange.request.stream && GatewayError.isInstance(error))
      ctx.errorStream = dialect.writeStreamedError?.(error, exchange)
    throw error
  }
  return (ctx) => {
    const account = requireAccount(ctx)
    ctx.confirmAccount?.(account)
    const created = createExchange(dialect, requestedBody(ctx), ctx, callers.snapshot(account))
    return chain(created, (exchange) => {
      ctx.exchange = exchange
      try {
        const answered = answer(ctx)
        if (!isPromiseLike(answered)) return
        return answered.then(undefined, (error: unknown) => reject(ctx, exchange, error))
      } catch (error) {
        return reject(ctx, exchange, error)
      }
    })
  }
}

function requestedBody({ request, deployment }: GatewayContext): JsonObject {
  const body = requireJsonObject(request.body)
  return deployment === undefined ? body : { ...body, model: deployment }
}

/** Returns an error as the client of a dialect gets it. */
export function toCallerError(
  thrown: unknown,
  dialect: Dialect,
  exchange: EndedExchange,
  readBody: () => JsonObject,
): unknown {
  return toErrorInStyle(nameCallerPath(thrown, dialect, exchange, readBody), dialect.errorStyle)
}

/** Plugins and providers know the canonical request only, and name its fields in their errors. */
function nameCallerPath(
  error: unknown,
  dialect: Dialect,
  exchange: EndedExchange,
  readBody: () => JsonObject,
): unknown {
  if (!GatewayError.isInstance(error) || error.details.param === undefined) return error
  const { param } = error.details
  const { toCallerPath, parameterNames = {} } = dialect
  const name = toReceivedName(param, exchange)
  const [field = ''] = name.split(/[.[]/, 1)
  const place = toCallerPath?.(name, exchange, readBody()) ?? name
  const path = place === name ? (parameterNames[field] ?? name) : place
  return path === param ? error : error.withParam(path)
}

/** Reasoning models of OpenAI get the limit by its other name. */
function toReceivedName(param: string, { received }: EndedExchange): string {
  const isOther = param === 'max_completion_tokens' && received.max_completion_tokens === undefined
  return isOther ? 'max_tokens' : param
}

/** The part of a dialect that parses requests. */
export type RequestParser = Pick<
  Dialect,
  | 'parseRequest'
  | 'parsePreferences'
  | 'parseWarnings'
  | 'defaults'
  | 'sentDefaults'
  | 'parameterNames'
  | 'operation'
>

/**
 * Creates the exchange of a request that no plugin has processed yet. Throws 400 with the invalid parameter.
 */
export function createExchange(
  parser: RequestParser,
  body: JsonObject,
  ctx: RequestContext & Pick<Admission, 'res'> & Pick<GatewayContext, 'admittedAt'>,
  { account, policies, policyPosition, rules }: CallerSnapshot,
): MaybePromise<EndedExchange> {
  return chain(parser.parseRequest(body, ctx), (request) => {
    const exchange: OpenExchange = {
      id: ctx.requestId,
      traceId: ctx.traceId,
      endpoint: ctx.endpoint,
      operation: parser.operation,
      account,
      client: ctx.client,
      headers: ctx.headers,
      state: ctx.state,
      startedAt: ctx.startedAt,
      admittedAt: ctx.admittedAt,
      readAt: performance.now(),
      decidedAt: undefined,
      policies,
      rules,
      rulesPosition: rulesPositionOf({ account, rules, policyPosition }),
      request,
      received: request,
      metadata: isJsonObject(request.metadata) ? request.metadata : undefined,
      preferences: parser.parsePreferences?.(body) ?? [],
      defaulted: listDefaulted(parser, body, request),
      warnings: parser.parseWarnings?.(body) ?? [],
      trace: [],
      attempts: [],
      res: ctx.res,
    }
    const named: DialectFields = exchange
    if (parser.sentDefaults) named.sentDefaults = parser.sentDefaults
    if (parser.parameterNames) named.parameterNames = parser.parameterNames
    return exchange
  })
}

/** What only some dialects have. */
type DialectFields = {
  -readonly [Field in 'sentDefaults' | 'parameterNames']?: EndedExchange[Field]
}

/** The fields that the dialect has filled in, or will before the request is sent. */
function listDefaulted(
  { defaults = [], sentDefaults = {} }: RequestParser,
  body: JsonObject,
  request: EndedExchange['request'],
): readonly string[] {
  return defaults.filter((name) => body[name] === undefined && (name in request || name in sentDefaults))
}

type Decide = NonNullable<PluginParts['decide']>

function noteDecided(exchange: OpenExchange): void {
  exchange.decidedAt = performance.now()
}

function toSentStep({ toSentRequest }: Dialect): readonly Decide[] {
  if (toSentRequest === undefined) return []
  return [
    (exchange) => {
      exchange.request = toSentRequest(exchange.request, exchange.state)
    },
  ]
}

/** Produces a reply. Rejects if it fails. */
type ProduceReply = (exchange: OpenExchange) => Promise<Reply>

/** Puts each `reply` around those of the plugins listed later. */
function toReplyOnion({ answer }: Dialect, steps: readonly PluginStep[]): ProduceReply {
  const confirms = list(steps, 'confirm')
  let produce = rejectUnanswered
  for (const { parts, isBuiltIn } of steps.toReversed()) {
    if (parts.reply === undefined) continue
    // A package may change the request before it calls `next`.
    const inner = isBuiltIn ? produce : confirms.reduceRight(confirmFirst, produce)
    produce = toLayer(parts.reply, inner)
  }
  return answer === undefined ? produce : answerFirst(answer, produce)
}

function answerFirst(answer: NonNullable<Dialect['answer']>, others: ProduceReply): ProduceReply {
  return async (exchange) => {
    const reply = answer(exchange)
    return reply === undefined ? others(exchange) : acceptReply(exchange, reply)
  }
}

function confirmFirst(inner: ProduceReply, confirm: NonNullable<PluginParts['confirm']>): ProduceReply {
  return async (exchange) => {
    await confirm(exchange)
    return inner(exchange)
  }
}

/** A plugin calls its `next` at most once: packages get an error the second time. */
function toLayer(answer: NonNullable<PluginParts['reply']>, produce: ProduceReply): ProduceReply {
  return (exchange) => {
    let inner: Promise<Reply> | undefined
    try {
      const replied = answer(exchange, () => {
        inner = produce(exchange)
        return inner
      })
      // Most plugins pass on the reply of those inside, which is that of the exchange already.
      if (replied === inner && inner !== undefined) return inner
      return Promise.resolve(replied).then((reply) => acceptReply(exchange, reply))
    } catch (error) {
      return Promise.reject(error)
    }
  }
}

/** Makes a reply that of the exchange. Nobody reads one that a plugin listed earlier did not wait for. */
function acceptReply(exchange: OpenExchange, reply: Reply | undefined): Reply {
  if (reply === undefined)
    throw new GatewayError('internal_error', 'A plugin answered the request without a reply.')
  if (exchange.isAnswered) {
    releaseReply(reply)
    throw new GatewayError('internal_error', 'The request was answered before this reply arrived.')
  }
  exchange.reply = reply
  return reply
}

const rejectUnanswered: ProduceReply = async () => {
  const message = 'No plugin produced a reply. Add "dispatch" to the list of plugins.'
  throw new GatewayError('internal_error', message)
}
