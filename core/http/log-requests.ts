import type { Logger } from 'pino'
import type { EndedRequest, RequestObserver } from '../contract/index.ts'
import { redactApiKeys } from '../contract/without-api-keys.ts'

/** One line per request: who asked, what became of it, how long it took. No texts. */
export function logRequests(logger: Logger): RequestObserver {
  // Looking for what must not be shown costs more than the line itself, and here every field is known.
  const lines = logger.child({}, { redact: [] })
  return (request) => lines.info(toLogFields(request), 'request')
}

function toLogFields({
  id,
  method,
  path,
  isAborted,
  status,
  startedAt,
  endedAt,
  account,
  exchange,
}: EndedRequest) {
  return {
    requestId: id,
    method,
    path: redactApiKeys(path),
    status: isAborted ? 'left' : status,
    ms: Math.round(endedAt - startedAt),
    user: account?.userId,
    ...(exchange && {
      provider: exchange.target?.provider,
      model: exchange.target?.model,
      attempts: exchange.attempts.length,
    }),
  }
}
