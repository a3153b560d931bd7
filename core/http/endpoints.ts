import {
  type Access,
  type Admission,
  type Author,
  type Endpoint,
  type EndpointCall,
  type EndpointDescription,
  type EndpointResponse,
  type GatewayContext,
  GatewayError,
  type GatewayMiddleware,
  isJsonObject,
  keyActor,
  type MaybePromise,
  type OperatorAccess,
  type OperatorScope,
  requireAccount,
} from '../contract/index.ts'
import { afterNextInput } from '../util/cooperative-yield.ts'
import { hasLongList, stringifyInSlices } from '../util/stringify-in-slices.ts'
import {
  AppliedBeforeError,
  type AppliedChange,
  type FindKnownRequest,
  findAppliedChange,
  isRepeatable,
  matchesEtag,
  parseChangeReason,
  parseIdempotency,
  type RepeatableEndpoint,
} from './change-headers.ts'
import { InterruptibleResponse } from './incomplete-response.ts'
import { createBodyParser, createParamsParser, createQueryParser } from './parse-call.ts'
import { type RawBodyReader, readTextBody } from './read-body.ts'
import { sendEventStream, sendJsonText, sendJsonValue } from './send-response.ts'
import { composeStages, type Stage, type Step, toMiddleware } from './steps.ts'

/** Returns the operator who sent the request. Rejects requests of anybody who may not call the endpoint. */
export type AuthenticateOperator = (
  request: Admission,
  access: OperatorAccess,
) => MaybePromise<AuthenticatedOperator>

/** An operator, as the author of changes. */
export interface AuthenticatedOperator {
  readonly author: Author
  /** Undefined for operators of everything. */
  readonly scope: OperatorScope | undefined
}

/** Records that an operator reads data. Rejects if it cannot be recorded. */
export type RecordRead = (
  data: { read: 'export' | 'prompts'; operation: string; path: string; query: string },
  author: Author,
) => Promise<void>

export interface EndpointServices {
  /** Runs before endpoints for users. */
  readonly admission: readonly Stage[]
  readonly readBody: Step
  readonly readRawBody: RawBodyReader
  readonly authenticateOperator: AuthenticateOperator
  readonly recordRead: RecordRead
  readonly findKnownRequest: FindKnownRequest
  /** Bodies may have parts of a state that changes in place, so each is encoded in one turn. */
  readonly hasMutableBodies: boolean
}

/** Returns the path of an endpoint in the router's notation, which metric labels and logs show, too. */
export function toRoutePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** Sets the header in which Anthropic's clients look for the id of a request. */
export function addAnthropicRequestId({ res, requestId }: Pick<GatewayContext, 'res' | 'requestId'>): void {
  res.setDefaultHeader('request-id', requestId)
}

type EnteredEndpoint = Pick<EndpointDescription, 'path' | 'access' | 'errorStyle' | 'tellsOwnTime'>

/** Creates a step that tells the next ones which endpoint serves the request. */
export function enterEndpoint(
  { path, access, errorStyle = 'general', tellsOwnTime }: EnteredEndpoint,
  { isInference = false } = {},
): Step {
  const endpoint = toRoutePath(path)
  return (ctx) => {
    ctx.endpoint = endpoint
    ctx.isInference = isInference
    ctx.access = access
    ctx.errorStyle = errorStyle
    if (errorStyle === 'anthropic') addAnthropicRequestId(ctx)
    if (tellsOwnTime && ctx.res instanceof InterruptibleResponse) ctx.res.timed = ctx
  }
}

/**
 * Composes the middleware of an endpoint: checks access, parses the parameters and the body by their schemas,
 * calls the handler and sends its response. See docs/decisions/http.md, "The body is read after the caller is
 * authenticated".
 */
export function composeEndpoint(endpoint: Endpoint, services: EndpointServices): GatewayMiddleware {
  const { access, textBody, rawBody } = endpoint
  const { admission, readBody, readRawBody, authenticateOperator, findKnownRequest, recordRead } = services
  const { hasMutableBodies } = services
  const parseParams = createParamsParser(endpoint)
  const parseQuery = createQueryParser(endpoint)
  const parseBody = createBodyParser(endpoint)
  const hasBody = endpoint.body !== undefined
  const repeat = isRepeatable(endpoint) ? handleRepeatable(endpoint, findKnownRequest) : undefined

  async function handle(ctx: RoutedContext): Promise<void> {
    let caller = await identifyCaller(ctx, access, authenticateOperator)
    const confirm = async () => {
      ctx.confirmAccount?.(ctx.account)
      if (access.type === 'operator') caller = await identifyCaller(ctx, access, authenticateOperator)
    }
    const params = parseParams(ctx.params, ctx.path)
    const query = parseQuery(ctx.querystring)
    const { requestId, client, headers, req } = ctx
    const common = { requestId, client, headers, req }
    if (textBody?.applies(query)) {
      const call = { ...caller, ...common, params, query, body: undefined }
      return respondWith(ctx, await textBody.handle({ ...call, text: readTextBody(ctx, confirm) }))
    }
    if (rawBody !== undefined) {
      const body = await readRawBody(ctx, rawBody.maxBytes)
      await confirm()
      return respondWith(ctx, await endpoint.handle({ ...caller, ...common, params, query, body }))
    }
    if (hasBody) {
      await readBody(ctx)
      // Parsing a large body takes as long as validating it.
      if (isLargeBody(ctx)) await afterNextInput()
      await confirm()
    }
    const body = parseBody(ctx.request.body)
    if (endpoint.audited) await noteRead(ctx, query, caller.author)
    const call = { ...caller, ...common, params, query, body }
    return respondWith(ctx, await (repeat ? repeat(ctx, call) : endpoint.handle(call)))
  }

  async function respondWith(ctx: GatewayContext, response: EndpointResponse): Promise<void> {
    const { status, headers, body } = response
    const isLong = !hasMutableBodies && isJson(body) && hasLongList(body)
    const isSent = isLong && !isUnchanged(ctx, status, headers?.etag)
    sendResponse(ctx, response, isSent ? await stringifyInSlices(body) : undefined)
  }

  /** Before the endpoint is called: what cannot be recorded is not handed over. */
  async function noteRead(ctx: RoutedContext, query: Values, author: Author | undefined): Promise<void> {
    const read = endpoint.audited?.(query)
    if (read === undefined || author === undefined) return
    const { operationId: operation } = endpoint
    await recordRead({ read, operation, path: ctx.path, query: ctx.querystring.slice(0, 1000) }, author)
  }

  const isForUsers = access.type === 'user'
  const stages = [{ before: enterEndpoint(endpoint) }, ...(isForUsers ? admission : [])]
  // The cast is safe: only the router calls endpoints, and it sets the path parameters.
  return toMiddleware(composeStages(stages, (ctx) => handle(ctx as RoutedContext)))
}

/**
 * Handles requests with an `Idempotency-Key`: a change that has been made is not made again. See
 * docs/decisions/event-log.md, "Idempotency keys are stored with the events".
 */
function handleRepeatable(endpoint: RepeatableEndpoint, findKnownRequest: FindKnownRequest) {
  return async (ctx: RoutedContext, call: EndpointCall): Promise<EndpointResponse> => {
    const { method, path, headers } = ctx
    const caller = callerOfChange(call)
    const content = { method, path, ifMatch: headers['if-match'], body: ctx.request.body }
    const idempotency = parseIdempotency(headers['idempotency-key'], caller, content)
    if (idempotency === undefined || call.author === undefined) return endpoint.handle(call)
    const change = findAppliedChange(idempotency, findKnownRequest)
    if (change !== undefined) return replay(endpoint, call, change)
    try {
      return await endpoint.handle({ ...call, author: { ...call.author, idempotency } })
    } catch (error) {
      if (!(error instanceof AppliedBeforeError)) throw error
      return replay(endpoint, call, error.change)
    }
  }
}

/** Identifies who may repeat a request. Everybody with the admin key is one caller. */
function callerOfChange({ account, author }: EndpointCall): string {
  if (account !== undefined) return `user-${account.userId}`
  return author?.actor.type === 'operator' ? author.actor.id : 'operator'
}

async function replay(
  endpoint: RepeatableEndpoint,
  call: EndpointCall,
  change: AppliedChange,
): Promise<EndpointResponse> {
  const response = await endpoint.replay(call, change)
  return { ...response, headers: { ...response.headers, 'idempotent-replayed': 'true' } }
}

type Values = Readonly<Record<string, unknown>>

type RoutedContext = GatewayContext & { readonly params: Readonly<Record<string, string>> }

const LARGE_BODY_BYTES = 50_000

/** The length of what is sent in chunks, or compressed, is not known. */
function isLargeBody({ req: { headers } }: GatewayContext): boolean {
  const {
    'content-length': length = 0,
    'transfer-encoding': transfer,
    'content-encoding': encoding,
  } = headers
  return Number(length) > LARGE_BODY_BYTES || transfer !== undefined || encoding !== undefined
}

/** Returns the caller of an endpoint. Rejects if the caller may not call it. */
async function identifyCaller(
  ctx: RoutedContext,
  access: Access,
  authenticateOperator: EndpointServices['authenticateOperator'],
) {
  if (access.type === 'public') return { account: undefined, author: undefined, scope: undefined }
  if (access.type === 'operator') {
    const { author, scope } = await authenticateOperator(ctx, access)
    return { account: undefined, author: withReason(author, ctx), scope }
  }
  const account = requireAccount(ctx)
  if (access.plan !== undefined && account.plan !== access.plan) {
    throw new GatewayError('plan_required', `This endpoint requires a ${access.plan} plan.`)
  }
  const author = withReason({ actor: keyActor(account), requestId: ctx.requestId }, ctx)
  return { account, author, scope: undefined }
}

function withReason(author: Author, { headers }: RoutedContext): Author {
  const reason = parseChangeReason(headers['x-change-reason'])
  return reason === undefined ? author : { ...author, reason }
}

/** `text`: the body as JSON, if it is encoded already. */
function sendResponse(ctx: GatewayContext, response: EndpointResponse, text: string | undefined): void {
  const { status, headers = {}, body, json, stream } = response
  if (stream !== undefined) sendEventStream(ctx, stream)
  if (json !== undefined) sendJsonText(ctx, status, json)
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value)
  if (stream !== undefined || json !== undefined) return
  ctx.status = isUnchanged(ctx, status, headers.etag) ? 304 : status
  if (ctx.status === 304) ctx.body = null
  else if (isJson(body)) sendJsonValue(ctx, body, text)
  // Koa makes any status a 204 where there is no body.
  else ctx.body = body ?? ''
}

/** Not true for buffers and streams. */
function isJson(body: unknown): body is object {
  return Array.isArray(body) || (isJsonObject(body) && Object.getPrototypeOf(body) === Object.prototype)
}

/** True if the client already has the current content. */
function isUnchanged({ method, headers }: GatewayContext, status: number, etag: string | undefined): boolean {
  const isRead = status === 200 && (method === 'GET' || method === 'HEAD')
  return isRead && etag !== undefined && matchesEtag(headers['if-none-match'], etag)
}
