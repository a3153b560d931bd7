import compose from 'koa-compose'
import {
  type Account,
  type Admission,
  type Dialect,
  type EndedExchange,
  type EndpointDescription,
  type GatewayContext,
  GatewayError,
  type GatewayMiddleware,
  type Host,
  isJsonObject,
  type JsonObject,
  type PluginParts,
  type Position,
  type RepliedExchange,
  type Reply,
  type ReplyTransform,
  type RequestContext,
  type RuleSet,
  requireAccount,
} from '../contract/index.ts'
import { enterEndpoint } from '../http/endpoints.ts'
import { toErrorInStyle } from '../http/error-words.ts'
import { type BodyQuota, createBodyReader, requireJsonObject } from '../http/read-body.ts'
import { createResponseSender, type KeepAlives } from '../http/send-response.ts'
import { chain, type MaybePromise } from '../util/maybe-promise.ts'
import { composeAdmission } from './admission.ts'
import { createLateStream } from './late-stream.ts'
import type { PluginStep } from './load.ts'
import { readReply } from './read-reply.ts'
import { releaseReply } from './release-reply.ts'
import { toReplyType } from './reply-type.ts'
import { recordUnreadCost } from './usage-recorder.ts'

export interface InferenceParts {
  readonly steps: readonly PluginStep[]
  readonly callers: CallerSource
  /** Maximum size of a request body, in bytes. */
  readonly bodyLimit: number
  readonly bodyQuota: BodyQuota
  readonly costOf: Host['costOf']
  readonly keepAlives: KeepAlives
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
 * Composes the middleware of one inference endpoint: the way of a request from its headers to its response.
 * In each phase the plugins run in the order in which they are listed. The middleware is composed once, here:
 * the router would compose it again for every request.
 */
export function composeInference(
  endpoint: EndpointDescription,
  dialect: Dialect,
  parts: InferenceParts,
): GatewayMiddleware {
  const { steps, bodyLimit, bodyQuota } = parts
  const recordFailure = createFailureRecorder(dialect, parts.costOf, list(steps, 'rejected'))
  return compose([
    enterEndpoint(endpoint, { isInference: true }),
    ...composeAdmission(steps), // admit: headers only; third-party middleware at its place
    createBodyReader(bodyLimit, bodyQuota),
    openExchange(dialect, parts, recordFailure),
    ...list(steps, 'decide').map(toDecideMiddleware),
    ...toSentMiddleware(dialect),
    ...list(steps, 'confirm').map(toDecideMiddleware),
    respond(dialect, parts, recordFailure), // waits for the reply; inspect; writes it
    ...toReplyOnion(dialect, steps), // dispatch calls the provider
  ])
}

/** Returns one phase of all plugins that have it, in the listed order. */
function list<Phase extends 'decide' | 'confirm' | 'reply' | 'rejected'>(
  steps: readonly PluginStep[],
  phase: Phase,
): readonly NonNullable<PluginParts[Phase]>[] {
  return steps.flatMap(({ parts }) => parts[phase] ?? [])
}

/**
 * Records the cost of a request that failed before its reply was sent, and notifies the plugins. Resolves
 * with the error for the client, which a built-in plugin may replace by throwing another one.
 */
type RecordFailure = (ctx: GatewayContext, exchange: OpenExchange, thrown: unknown) => Promise<unknown>

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
 * Parses the body in the client's format and snapshots the caller's account and rules. If the request fails
 * before its reply is sent, notifies the plugins before the error is answered.
 */
function openExchange(
  dialect: Dialect,
  { callers }: InferenceParts,
  recordFailure: RecordFailure,
): GatewayMiddleware {
  async function reject(ctx: GatewayContext, exchange: OpenExchange, thrown: unknown): Promise<never> {
    const error = await recordFailure(ctx, exchange, thrown)
    if (exchange.request.stream && GatewayError.isInstance(error))
      ctx.errorStream = dialect.writeStreamedError?.(error, exchange)
    throw error
  }
  return (ctx, next) => {
    const account = requireAccount(ctx)
    ctx.confirmAccount?.(account)
    const created = createExchange(dialect, requestedBody(ctx), ctx, callers.snapshot(account))
    return chain(created, (exchange) => {
      ctx.exchange = exchange
      return next().catch((error: unknown) => reject(ctx, exchange, error))
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
  ctx: RequestContext & Pick<Admission, 'res'>,
  { account, policies, policyPosition, rules }: CallerSnapshot,
): MaybePromise<EndedExchange> {
  return chain(parser.parseRequest(body, ctx), (request) => ({
    id: ctx.requestId,
    traceId: ctx.traceId,
    endpoint: ctx.endpoint,
    operation: parser.operation,
    account,
    client: ctx.client,
    headers: ctx.headers,
    state: ctx.state,
    startedAt: ctx.startedAt,
    policies,
    rules,
    rulesPosition: rulesPositionOf({ account, rules, policyPosition }),
    request,
    received: request,
    metadata: isJsonObject(request.metadata) ? request.metadata : undefined,
    preferences: parser.parsePreferences?.(body) ?? [],
    defaulted: listDefaulted(parser, body, request),
    ...(parser.sentDefaults && { sentDefaults: parser.sentDefaults }),
    ...(parser.parameterNames && { parameterNames: parser.parameterNames }),
    warnings: parser.parseWarnings?.(body) ?? [],
    trace: [],
    attempts: [],
    res: ctx.res,
  }))
}

/** The fields that the dialect has filled in, or will before the request is sent. */
function listDefaulted(
  { defaults = [], sentDefaults = {} }: RequestParser,
  body: JsonObject,
  request: EndedExchange['request'],
): readonly string[] {
  return defaults.filter((name) => body[name] === undefined && (name in request || name in sentDefaults))
}

function toDecideMiddleware(decide: NonNullable<PluginParts['decide']>): GatewayMiddleware {
  return ({ exchange }, next) => chain(decide(exchange), next)
}

function toSentMiddleware({ toSentRequest }: Dialect): readonly GatewayMiddleware[] {
  if (toSentRequest === undefined) return []
  return [
    ({ exchange }, next) => {
      exchange.request = toSentRequest(exchange.request, exchange.state)
      return next()
    },
  ]
}

/** Koa's types know middleware without a result only. */
function toReplyOnion(dialect: Dialect, steps: readonly PluginStep[]): readonly GatewayMiddleware[] {
  const confirms = list(steps, 'confirm').map(toConfirmMiddleware)
  const layers = [
    ...toOwnReplyMiddleware(dialect),
    ...steps.flatMap(({ parts: { reply }, isBuiltIn }) => {
      if (reply === undefined) return []
      // A package may change the request before it calls `next`.
      return isBuiltIn ? [toReplyMiddleware(reply)] : [toReplyMiddleware(reply), ...confirms]
    }),
    rejectUnanswered,
  ]
  return layers as unknown as readonly GatewayMiddleware[]
}

function toOwnReplyMiddleware({ answer }: Dialect): readonly ReplyMiddleware[] {
  if (answer === undefined) return []
  return [
    (ctx, next) => {
      const exchange: OpenExchange = ctx.exchange
      const reply = answer(exchange)
      return reply === undefined ? next() : acceptReply(exchange, reply)
    },
  ]
}

/** The exchange while its reply is being produced. */
type OpenExchange = EndedExchange & {
  reply?: Reply
  /** The reply is being sent, or the request has failed. */
  isAnswered?: true
}

/** A layer of the onion. `next()` resolves with the reply of the layers inside, as Koa's does not. */
type ReplyMiddleware = (ctx: GatewayContext, next: () => Promise<Reply>) => MaybePromise<Reply>

function toConfirmMiddleware(confirm: NonNullable<PluginParts['confirm']>): ReplyMiddleware {
  return ({ exchange }, next) => chain(confirm(exchange), next)
}

function toReplyMiddleware(answer: NonNullable<PluginParts['reply']>): ReplyMiddleware {
  return (ctx, next) => {
    const { exchange } = ctx
    return chain(answer(exchange, next), (reply): MaybePromise<Reply> => acceptReply(exchange, reply))
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

const rejectUnanswered: ReplyMiddleware = () => {
  const message = 'No plugin produced a reply. Add "dispatch" to the list of plugins.'
  throw new GatewayError('internal_error', message)
}

/**
 * Waits for the reply, creates the transforms of the plugins for it, and sends it in the client's format. The
 * stream of a client that has waited for long is opened before the reply: see docs/decisions/http.md, "A
 * stream that waits is opened with 200".
 */
function respond(
  dialect: Dialect,
  { steps, costOf, keepAlives }: InferenceParts,
  recordFailure: RecordFailure,
): GatewayMiddleware {
  const inspectors = steps
    .map(({ parts }) => parts)
    .filter(({ inspect, confirmReply }) => inspect !== undefined || confirmReply !== undefined)
  const { keepAlive = SSE_COMMENT } = dialect
  const sender = createResponseSender(keepAlives, { ...dialect, keepAlive })

  function write(ctx: GatewayContext, exchange: RepliedExchange): MaybePromise<void> {
    if (exchange.decoration !== undefined)
      for (const [name, value] of exchange.decoration.headers) ctx.res.setDefaultHeader(name, value)
    if (exchange.reply.type === 'stream') sender.sendStream(ctx, dialect.writeStream(exchange, ctx))
    else return chain(dialect.writeWhole(exchange, ctx), (body) => sender.sendWhole(ctx, body))
  }

  return (ctx, next) => {
    const { exchange } = ctx
    const replied = next().then((reply: Reply) => inspectReply(exchange, reply, inspectors, costOf))
    // WebSocket connections have pings of their own.
    if (exchange.request.stream !== true || ctx.client.session !== undefined)
      return replied.then((exchange) => write(ctx, exchange))
    return new Promise((resolve, reject) => {
      let isLate = false
      const onSilence = () => {
        isLate = true
        watched.end()
        const late = createLateStream(dialect, ctx, replied, (thrown) => recordFailure(ctx, exchange, thrown))
        ctx.lateReply = late.recorded
        resolve(sender.sendStream(ctx, late.records(keepAlive)))
      }
      const watched = keepAlives.watch(onSilence, performance.now() - ctx.startedAt)
      const onReply = (exchange: RepliedExchange) => {
        watched.end()
        return isLate ? undefined : write(ctx, exchange)
      }
      const onError = (error: unknown) => {
        watched.end()
        throw error
      }
      // Has no effect if the stream was opened before.
      replied.then(onReply, onError).then(resolve, reject)
    })
  }
}

const SSE_COMMENT = ': keep-alive\n\n'

type ReplyInspector = Pick<PluginParts, 'inspect' | 'confirmReply'>

/** A plugin may answer a request for a stream with a whole reply, and the other way round. */
function inspectReply(
  exchange: OpenExchange,
  given: Reply,
  inspectors: readonly ReplyInspector[],
  costOf: Host['costOf'],
): MaybePromise<RepliedExchange> {
  const wanted = exchange.request.stream === true ? 'stream' : 'whole'
  exchange.isAnswered = true
  return chain(toReplyType(given, wanted), (reply) => {
    exchange.reply = reply
    return createTransforms(exchange, reply, inspectors, costOf)
  })
}

function createTransforms(
  exchange: OpenExchange,
  reply: Reply,
  inspectors: readonly ReplyInspector[],
  costOf: Host['costOf'],
): MaybePromise<RepliedExchange> {
  const replied = exchange as OpenExchange & { reply: Reply }
  const transforms: ReplyTransform[] = []
  const confirming: {
    readonly place: number
    readonly confirm: NonNullable<ReplyInspector['confirmReply']>
  }[] = []
  for (const { inspect, confirmReply } of inspectors) {
    transforms.push(...[inspect?.(replied) ?? []].flat())
    if (confirmReply !== undefined) confirming.push({ place: transforms.length, confirm: confirmReply })
  }
  const last = transforms.length
  for (const { place, confirm } of confirming)
    if (place < last) transforms.push(...[confirm(replied) ?? []].flat())
  return chain(readReply(replied, reply, transforms, costOf), (inspected) => {
    replied.reply = inspected
    return replied
  })
}
