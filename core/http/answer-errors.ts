import type { Logger } from 'pino'
import {
  EventLogUnavailableError,
  type GatewayContext,
  GatewayError,
  type GatewayMiddleware,
  type JsonObject,
} from '../contract/index.ts'
import { startStreaming } from './send-stream.ts'
import { toKoaError } from './thrown-by-koa.ts'

type ErrorBody = NonNullable<GatewayContext['errorBody']>

/** The general envelope (interface: "Errors"). */
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
  if (thrown instanceof GatewayError) return thrown
  if (thrown instanceof EventLogUnavailableError) return toEventLogError(thrown)
  const refusal = toKoaError(thrown)
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
