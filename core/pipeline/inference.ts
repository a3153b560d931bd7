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
import { toErrorInStyle } from '../http/anthropic-errors.ts'
import { enterEndpoint } from '../http/endpoints.ts'
import { createBodyReader, requireJsonObject } from '../http/read-body.ts'
import { createResponseSender, type ResponseSender } from '../http/send-response.ts'
import { chain, type MaybePromise } from '../util/maybe-promise.ts'
import { composeAdmission, hasThirdPartyMiddleware } from './admission.ts'
import type { PluginStep } from './load.ts'
import { readReply } from './read-reply.ts'
import { toReplyType } from './reply-type.ts'
import { recordUnreadCost } from './usage-recorder.ts'

export interface InferenceParts {
  readonly steps: readonly PluginStep[]
  readonly snapshotCaller: (account: Account) => CallerSnapshot
  /** Maximum size of a request body, in bytes. */
  readonly bodyLimit: number
  readonly costOf: Host['costOf']
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
  const { steps, bodyLimit, costOf } = parts
  const sender = createResponseSender(hasThirdPartyMiddleware(steps))
  return compose([
    enterEndpoint(endpoint, { isInference: true }),
    ...composeAdmission(steps), // admit: headers only; third-party middleware at its place
    createBodyReader(bodyLimit),
    openExchange(dialect, parts, list(steps, 'rejected')),
    ...list(steps, 'decide').map(toDecideMiddleware),
    ...toSentMiddleware(dialect),
    respond(dialect, list(steps, 'inspect'), sender, costOf), // waits for the reply; inspect; writes it
    ...toOwnReplyMiddleware(dialect),
    ...list(steps, 'reply').map(toReplyMiddleware), // an onion; dispatch calls the provider
    rejectUnanswered,
  ])
}

/** Returns one phase of all plugins that have it, in the listed order. */
function list<Phase extends 'decide' | 'reply' | 'inspect' | 'rejected'>(
  steps: readonly PluginStep[],
  phase: Phase,
): readonly NonNullable<PluginParts[Phase]>[] {
  return steps.flatMap(({ parts }) => parts[phase] ?? [])
}

/**
 * Parses the body in the client's format and snapshots the caller's account and rules. If the request fails
 * before its reply is sent, notifies the plugins before the error is answered.
 */
function openExchange(
  dialect: Dialect,
  { snapshotCaller, costOf }: InferenceParts,
  onRejected: readonly NonNullable<PluginParts['rejected']>[],
): GatewayMiddleware {
  async function reject(exchange: EndedExchange, thrown: unknown): Promise<never> {
    recordUnreadCost(exchange, costOf)
    const named = nameCallerPath(thrown, dialect, exchange)
    const error = toErrorInStyle(named, dialect.errorStyle, exchange.route !== undefined)
    for (const notify of onRejected) await notify(exchange, error)
    throw error
  }
  return (ctx, next) => {
    const account = requireAccount(ctx)
    ctx.confirmAccount?.(account)
    const created = createExchange(dialect, requestedBody(ctx), ctx, snapshotCaller(account))
    return chain(created, (exchange) => {
      ctx.exchange = exchange
      return next().catch((error: unknown) => reject(exchange, error))
    })
  }
}

function requestedBody({ request, deployment }: GatewayContext): JsonObject {
  const body = requireJsonObject(request.body)
  return deployment === undefined ? body : { ...body, model: deployment }
}

/** Plugins and providers know the canonical request only, and name its fields in their errors. */
function nameCallerPath(error: unknown, { toCallerPath }: Dialect, exchange: EndedExchange): unknown {
  if (toCallerPath === undefined || !GatewayError.isInstance(error)) return error
  const { param } = error.details
  const path = param && toCallerPath(param, exchange)
  return path && path !== param ? error.withParam(path) : error
}

/** The part of a dialect that parses requests. */
export type RequestParser = Pick<
  Dialect,
  'parseRequest' | 'parsePreferences' | 'parseWarnings' | 'defaults' | 'parameterNames' | 'operation'
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
    defaulted: (parser.defaults ?? []).filter((name) => body[name] === undefined),
    ...(parser.parameterNames && { parameterNames: parser.parameterNames }),
    warnings: parser.parseWarnings?.(body) ?? [],
    trace: [],
    attempts: [],
    res: ctx.res,
  }))
}

function toDecideMiddleware(decide: NonNullable<PluginParts['decide']>): GatewayMiddleware {
  return ({ exchange }, next) => chain(decide(exchange), next)
}

function toSentMiddleware({ toSentRequest }: Dialect): readonly GatewayMiddleware[] {
  if (toSentRequest === undefined) return []
  return [
    ({ exchange }, next) => {
      exchange.request = toSentRequest(exchange.request)
      return next()
    },
  ]
}

function toOwnReplyMiddleware({ answer }: Dialect): readonly GatewayMiddleware[] {
  if (answer === undefined) return []
  return [
    (ctx, next) => {
      const exchange: OpenExchange = ctx.exchange
      const reply = answer(exchange)
      if (reply === undefined) return next()
      exchange.reply = reply
    },
  ]
}

/** The exchange while its reply is being produced. */
type OpenExchange = EndedExchange & { reply?: Reply }

function toReplyMiddleware(answer: NonNullable<PluginParts['reply']>): GatewayMiddleware {
  return (ctx, next) => {
    const exchange: OpenExchange = ctx.exchange
    return chain(
      answer(exchange, () => next().then(() => requireReply(exchange))),
      (reply): MaybePromise<void> => {
        exchange.reply = reply
      },
    )
  }
}

function requireReply({ reply }: OpenExchange): Reply {
  if (reply !== undefined) return reply
  throw new GatewayError('internal_error', 'A plugin answered the request without a reply.')
}

const rejectUnanswered: GatewayMiddleware = () => {
  const message = 'No plugin produced a reply. Add "dispatch" to the list of plugins.'
  throw new GatewayError('internal_error', message)
}

/** Waits for the reply, creates the transforms of the plugins for it, and sends it in the client's format. */
function respond(
  dialect: Dialect,
  inspectors: readonly NonNullable<PluginParts['inspect']>[],
  sender: ResponseSender,
  costOf: Host['costOf'],
): GatewayMiddleware {
  return (ctx, next) =>
    next().then(() =>
      chain(inspectReply(ctx.exchange, inspectors, costOf), (exchange): MaybePromise<void> => {
        if (exchange.decoration !== undefined)
          for (const [name, value] of exchange.decoration.headers) ctx.res.setDefaultHeader(name, value)
        if (exchange.reply.type === 'stream') sender.sendStream(ctx, dialect.writeStream(exchange, ctx))
        else return chain(dialect.writeWhole(exchange, ctx), (body) => sender.sendWhole(ctx, body))
      }),
    )
}

/** A plugin may answer a request for a stream with a whole reply, and the other way round. */
function inspectReply(
  exchange: OpenExchange,
  inspectors: readonly NonNullable<PluginParts['inspect']>[],
  costOf: Host['costOf'],
): MaybePromise<RepliedExchange> {
  const wanted = exchange.request.stream === true ? 'stream' : 'whole'
  return chain(toReplyType(requireReply(exchange), wanted), (reply) => {
    exchange.reply = reply
    return createTransforms(exchange, reply, inspectors, costOf)
  })
}

function createTransforms(
  exchange: OpenExchange,
  reply: Reply,
  inspectors: readonly NonNullable<PluginParts['inspect']>[],
  costOf: Host['costOf'],
): MaybePromise<RepliedExchange> {
  const replied = exchange as OpenExchange & { reply: Reply }
  let transforms: readonly ReplyTransform[]
  try {
    transforms = inspectors.flatMap((inspect) => inspect(replied) ?? [])
  } catch (error) {
    releaseReply(reply)
    throw error
  }
  return chain(readReply(replied, reply, transforms, costOf), (inspected) => {
    replied.reply = inspected
    return replied
  })
}

/** Releases the provider connection of a stream that nobody will read. */
function releaseReply(reply: Reply): void {
  if (reply.type === 'stream') void reply.batches[Symbol.asyncIterator]().return?.()
}
