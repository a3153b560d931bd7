import type Koa from 'koa'
import type { Logger } from 'pino'
import type { GatewayContext } from '../contract/index.ts'

/** What a socket says when the client is gone; the request's own line tells of that. */
const GONE = new Set(['ECONNABORTED', 'ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'])

/** Logs answers that broke off after they had begun. Koa by itself would print the error as it is, past the log and its redaction. */
export function logResponseErrors(app: Koa, logger: Logger): void {
  app.on('error', (err: Error & { code?: string }, ctx?: Partial<GatewayContext>) => {
    if (ctx?.client?.isAborted || GONE.has(err.code ?? '')) return
    logger.error({ err, requestId: ctx?.requestId }, 'an answer broke off')
  })
}
