import type { IncomingHttpHeaders } from 'node:http'
import type Koa from 'koa'
import type { Logger } from 'pino'
import {
  AppendTooLargeError,
  type ErrorStyle,
  EventLogReplacedError,
  EventLogUnavailableError,
  type GatewayContext,
  GatewayError,
  type JsonObject,
  Nullable,
  StreamDamagedError,
  type TProperties,
  type TSchema,
  Type,
} from '../contract/index.ts'
import { isPromiseLike } from '../util/maybe-promise.ts'
import { describeThrower } from '../util/plugin-context.ts'
import { toAnthropicErrorType, toWords } from './error-words.ts'
import { discardUnreadBody } from './read-body.ts'
import { sendStreamText } from './send-response.ts'
import type { Step } from './steps.ts'

/**
 * Builds the body of an error response (docs/api.md, "Errors"). Bodies for Anthropic's clients have the
 * request id.
 */
export function formatError(
  error: GatewayError,
  style: ErrorStyle = 'general',
  request_id?: string,
): JsonObject {
  const { code, type, status, message } = toWords(error, style)
  const { param, meta, errors, retryAfter } = error.details
  const retry = retryAfter !== undefined && { retry_after: retryAfter }
  const extra = { ...(meta && { meta }), ...retry }
  if (style === 'openai')
    return { error: { message, type, param: param ?? null, code, http_status: status, ...extra } }
  if (style === 'anthropic') {
    const described = { type: toAnthropicErrorType(status), message, code, http_status: status }
    const { wireCode: error_code } = error.details
    const specific = error_code !== undefined && { details: { error_code } }
    return {
      type: 'error',
      error: { ...described, ...specific, ...(param && { param }), ...extra },
      request_id,
    }
  }
  if (style === 'json-rpc')
    return { jsonrpc: '2.0', id: null, error: { code: JSON_RPC_REFUSED, message, data: { code, ...extra } } }
  if (style === 'route') return { error: { type, message, code, ...(param && { param }), ...extra } }
  return {
    error: {
      message,
      type,
      code,
      http_status: status,
      ...(param && { param }),
      ...(errors && { errors }),
      ...retry,
    },
  }
}

/** The class of JSON-RPC for errors of servers. */
const JSON_RPC_REFUSED = -32_000

const message = Type.String({ description: 'What happened, and what to do.' })
const type = Type.String({ description: 'The class of the error.' })
const http_status = Type.Integer({ description: 'The HTTP status of the response.' })
const param = Type.String({
  description: 'Path of the invalid field or parameter, such as messages[0].role.',
})
const code = Type.String({
  description:
    "The error code (header x-error-code), or the provider's own code for a request that it refused.",
})
const retry_after = Type.Optional(Type.Integer({ description: 'Seconds to wait before a retry.' }))
const meta = Type.Optional(
  Type.Object(
    {
      rule_id: Type.Optional(Type.Integer({ description: 'The firewall rule that blocked the request.' })),
      budget: Type.Optional(Type.String({ description: 'The kind of the budget that refused the request.' })),
    },
    { description: 'Details for programs.' },
  ),
)

const SCHEMAS = {
  general: errorSchema('ApiError', {
    message,
    type,
    code,
    http_status,
    param: Type.Optional(param),
    errors: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'Issues by field, as sentences.',
      }),
    ),
    retry_after,
  }),
  openai: errorSchema('OpenAiError', {
    message,
    type,
    param: Nullable(param),
    code,
    http_status,
    meta,
    retry_after,
  }),
  anthropic: errorSchema(
    'AnthropicError',
    {
      ...{ type, message, code, http_status, param: Type.Optional(param), meta, retry_after },
      details: Type.Optional(
        Type.Object({ error_code: code }, { description: "The error code where Anthropic's SDKs read it." }),
      ),
    },
    {
      type: Type.Literal('error', { description: 'Always error.' }),
      request_id: Type.String({ description: 'Id of the request.' }),
    },
  ),
  'json-rpc': errorSchema(
    'JsonRpcError',
    {
      code: Type.Integer({ description: 'The class of the error in JSON-RPC.' }),
      message,
      data: Type.Optional(
        Type.Object({ code: Type.Optional(code), retry_after }, { description: 'Details for programs.' }),
      ),
    },
    {
      jsonrpc: Type.Literal('2.0', { description: 'The version of JSON-RPC.' }),
      id: Type.Unsafe<string | number | null>({
        type: ['string', 'number', 'null'],
        description: 'The id of the request; null if it is not known.',
      }),
    },
  ),
  route: errorSchema('RouteError', { type, message, code, param: Type.Optional(param), meta, retry_after }),
}

function errorSchema(name: string, properties: TProperties, others: TProperties = {}) {
  const error = Type.Object(properties, { description: 'What went wrong.' })
  return Type.Object({ ...others, error }, { $id: name, description: 'The body of an error response.' })
}

/** Returns the schema of the error bodies that `formatError` builds. */
export function errorBodySchema(style: ErrorStyle = 'general'): TSchema {
  return SCHEMAS[style]
}

/**
 * Turns errors of the next steps into error responses. Calls `onHandled` for every request once the next
 * steps have ended, whether they failed or not. `x-error-code` is one of `errorCodes`: a code that no plugin
 * has declared is sent as `refused`. Clients for which `readsDetail` holds also get the message as `detail`.
 */
export function handleErrors(
  logger: Logger,
  errorCodes: Readonly<Record<string, unknown>>,
  onHandled: (ctx: GatewayContext) => void,
  readsDetail: (headers: IncomingHttpHeaders) => boolean = () => false,
): (next: Step) => Step {
  function end(ctx: GatewayContext): void {
    discardUnreadBody(ctx)
    onHandled(ctx)
  }

  function fail(ctx: GatewayContext, thrown: unknown): void {
    try {
      if (!ctx.client.isAborted) respond(ctx, thrown)
    } finally {
      end(ctx)
    }
  }

  function respond(ctx: GatewayContext, thrown: unknown): void {
    const error = toGatewayError(thrown)
    ctx.error = error
    if (error.status >= 500 && !isLoggedElsewhere(thrown))
      logger.error(
        {
          err: thrown,
          ...describeThrower(GatewayError.isInstance(thrown) ? thrown.cause : thrown),
          requestId: ctx.requestId,
          traceId: ctx.traceId,
        },
        error.message,
      )
    if (isFinal(error)) ctx.set('x-should-retry', 'false')
    setErrorHeaders(ctx, error, logger)
    if (error.details.retryAfter !== undefined) ctx.set('retry-after', String(error.details.retryAfter))
    ctx.set('x-error-code', Object.hasOwn(errorCodes, error.code) ? error.code : 'refused')
    if (ctx.errorStream !== undefined) {
      sendStreamText(ctx, ctx.errorStream)
      return
    }
    ctx.status = error.status
    const body = formatError(error, ctx.errorStyle, ctx.requestId)
    ctx.body = readsDetail(ctx.headers) ? { ...body, detail: error.message } : body
  }

  return (next) => (ctx) => {
    try {
      const handled = next(ctx)
      if (isPromiseLike(handled))
        return handled.then(
          () => end(ctx),
          (thrown: unknown) => fail(ctx, thrown),
        )
    } catch (thrown) {
      return fail(ctx, thrown)
    }
    end(ctx)
  }
}

/**
 * SDKs retry conflicts, and Claude Code wrong keys, for minutes. Conflicts that end by themselves say when to
 * retry.
 */
function isFinal({ status, details }: GatewayError): boolean {
  return status === 401 || status === 403 || (status === 409 && details.retryAfter === undefined)
}

/** A plugin may name a header that cannot be sent: then the error is answered without it. */
function setErrorHeaders(ctx: GatewayContext, { details }: GatewayError, logger: Logger): void {
  for (const [name, value] of Object.entries(details.headers ?? {})) {
    try {
      ctx.set(name, value)
    } catch (err) {
      logger.error({ err, requestId: ctx.requestId }, 'a header of an error cannot be sent')
    }
  }
}

/** The subscription logs these once per outage or stream, not once per refused request. */
function isLoggedElsewhere(thrown: unknown): boolean {
  return (
    EventLogUnavailableError.isInstance(thrown) ||
    EventLogReplacedError.isInstance(thrown) ||
    StreamDamagedError.isInstance(thrown) ||
    (GatewayError.isInstance(thrown) && QUIET_CODES.has(thrown.code))
  )
}

const QUIET_CODES = new Set(['event_log_replaced', 'rules_damaged'])

function toGatewayError(thrown: unknown): GatewayError {
  if (GatewayError.isInstance(thrown)) return thrown
  if (AppendTooLargeError.isInstance(thrown)) return createTooLargeError(thrown)
  if (EventLogReplacedError.isInstance(thrown)) return createLogReplacedError(thrown)
  if (StreamDamagedError.isInstance(thrown)) return createDamagedError(thrown.message, thrown)
  if (EventLogUnavailableError.isInstance(thrown)) return toEventLogError(thrown)
  const koaError = fromKoaError(thrown)
  if (koaError !== undefined) return koaError
  const message = 'The gateway failed to process the request. Include the x-request-id when you report this.'
  return new GatewayError('internal_error', message, { cause: thrown })
}

/** The answer to every request once the event log was replaced. */
export function createLogReplacedError(cause?: EventLogReplacedError): GatewayError {
  const message =
    'The event log was replaced by another one, so this gateway serves nothing until it has been started ' +
    'again. Retry the request.'
  return new GatewayError('event_log_replaced', message, { cause, retryAfter: 5 })
}

/** `description` says which stream has which damage. */
export function createDamagedError(description: string, cause?: Error): GatewayError {
  const message =
    `The request was refused: ${description}. The operator must restore the event log; nothing is served ` +
    'with a part of the rules.'
  return new GatewayError('rules_damaged', message, { cause })
}

function createTooLargeError({ bytes, limit }: AppendTooLargeError): GatewayError {
  const message =
    `The change has ${bytes} bytes in the event log, which accepts at most ${limit} in one change. Nothing ` +
    'was changed. Split the change into smaller ones, or shorten its content.'
  return new GatewayError('change_too_large', message)
}

function toEventLogError(cause: EventLogUnavailableError): GatewayError {
  if (cause.diskFull) {
    const message =
      'The event log has no disk space left. Nothing was changed. Free disk space before you retry.'
    return new GatewayError('event_log_full', message, { cause })
  }
  if (cause.accessDenied) {
    const message =
      'The event log denies access to the gateway. Nothing was changed. The operator must check its user ' +
      'name, password and permissions.'
    return new GatewayError('event_log_access_denied', message, { cause })
  }
  if (cause.damaged) {
    const message =
      'The event log is damaged, so changes are refused, and parts of the history may not be readable. ' +
      'Nothing was changed. The operator must restore it from a backup.'
    return new GatewayError('event_log_damaged', message, { cause })
  }
  const message = cause.outcomeUnknown
    ? 'The event log is unavailable; the change may or may not have been saved. Check before you retry.'
    : 'The event log is unavailable. Nothing was changed. Retry the request.'
  return new GatewayError('event_log_unavailable', message, { cause, retryAfter: 1 })
}

/**
 * Converts a Koa error such as `ctx.throw(403, 'Not here.')` to a `GatewayError`. Returns undefined for any
 * other error, and for a Koa error whose message or status must not be exposed to the client.
 */
export function fromKoaError(thrown: unknown): GatewayError | undefined {
  if (!(thrown instanceof Error && 'expose' in thrown && 'status' in thrown)) return undefined
  const { expose, status, message } = thrown
  if (expose !== true || typeof status !== 'number' || status < 400 || status > 499) return undefined
  const headers = 'headers' in thrown ? toHeaders(thrown.headers) : {}
  return new GatewayError('refused', message, { status, headers, cause: thrown })
}

function toHeaders(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {}
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

/** Error codes of a socket whose client disconnected. The request log line reports these requests already. */
const DISCONNECT_CODES = new Set(['ECONNABORTED', 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

/**
 * Logs responses that failed after they had started. By default Koa prints such errors to stderr, bypassing
 * the logger and its redaction.
 */
export function logResponseErrors(app: Koa, logger: Logger): void {
  app.on('error', (err: Error & { code?: string }, ctx?: Partial<GatewayContext>) => {
    if (ctx?.client?.isAborted || DISCONNECT_CODES.has(err.code ?? '')) return
    logger.error(
      { err, requestId: ctx?.requestId, traceId: ctx?.traceId },
      'response failed after it had started',
    )
  })
}
