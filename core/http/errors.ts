import type Koa from 'koa'
import type { Logger } from 'pino'
import {
  EventLogUnavailableError,
  type GatewayContext,
  GatewayError,
  type GatewayMiddleware,
  type JsonObject,
} from '../contract/index.ts'
import { startStreaming } from './sse-body.ts'

type ErrorBody = NonNullable<GatewayContext['errorBody']>

/** The general envelope (docs/api.md, "Errors"). */
export function errorEnvelope(error: GatewayError): JsonObject {
  const { message, type, status } = error
  const { errors, retryAfter } = error.details
  const more = { ...(errors && { errors }), ...(retryAfter !== undefined && { retry_after: retryAfter }) }
  return { error: { message, type, http_status: status, ...more } }
}

/** Errors that are thrown further down are answered in this shape. */
export function setErrorBody(bodyOf: ErrorBody): GatewayMiddleware {
  return (ctx, next) => {
    ctx.errorBody = bodyOf
    return next()
  }
}

/** Turns what is thrown further down into an answer, and calls `whenOver` with every request that has been through all. */
export function handleErrors(logger: Logger, whenOver: (ctx: GatewayContext) => void): GatewayMiddleware {
  return async (ctx, next) => {
    try {
      await next()
      startStreaming(ctx)
    } catch (thrown) {
      if (ctx.client.isAborted) return
      const error = toGatewayError(thrown)
      if (error.status >= 500) logger.error({ err: thrown, requestId: ctx.requestId }, error.message)
      for (const [name, value] of Object.entries(error.details.headers ?? {})) ctx.set(name, value)
      if (error.details.retryAfter !== undefined) ctx.set('retry-after', String(error.details.retryAfter))
      ctx.status = error.status
      ctx.body = (ctx.errorBody ?? errorEnvelope)(error)
    } finally {
      whenOver(ctx)
    }
  }
}

function toGatewayError(thrown: unknown): GatewayError {
  if (GatewayError.isInstance(thrown)) return thrown
  if (EventLogUnavailableError.isInstance(thrown)) return toEventLogError(thrown)
  const refusal = fromKoaError(thrown)
  if (refusal !== undefined) return refusal
  return new GatewayError(
    'internal_error',
    'The gateway failed. Quote the x-request-id when you report it.',
    {
      cause: thrown,
    },
  )
}

function toEventLogError(cause: EventLogUnavailableError): GatewayError {
  if (cause.diskFull)
    return new GatewayError('event_log_full', 'The event log has no room left. Nothing was changed.', {
      cause,
    })
  const message = cause.outcomeUnknown
    ? 'The event log is away, and it is not known whether the change was made. Look before you repeat it.'
    : 'The event log is away. Nothing was changed. Try again.'
  return new GatewayError('event_log_unavailable', message, { cause, retryAfter: 1 })
}

/** What `ctx.throw(403, 'Not here.')` of Koa says to the caller, as our error; undefined for what it keeps to itself. */
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

/** What a socket says when the client is gone; the request's own line tells of that. */
const GONE = new Set(['ECONNABORTED', 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

/** Logs answers that broke off after they had begun. Koa by itself would print the error as it is, past the log and its redaction. */
export function logResponseErrors(app: Koa, logger: Logger): void {
  app.on('error', (err: Error & { code?: string }, ctx?: Partial<GatewayContext>) => {
    if (ctx?.client?.isAborted || GONE.has(err.code ?? '')) return
    logger.error({ err, requestId: ctx?.requestId }, 'an answer broke off')
  })
}
