import { createHmac } from 'node:crypto'
import { createPool } from './connection.ts'
import { fetchWhole } from './http.ts'
import { isErrorStatus } from './response-head.ts'

/** A receiver of JSON bodies that can tell by their signature who sent them. */
export interface SignedWebhook {
  /** Its address without path and query, which may be secret. */
  readonly origin: string
  /** Rejects unless it answers in ten seconds, with a status that is no error. */
  post(id: string, body: string, signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

const TIMEOUT_MS = 10_000

/** What a webhook answers is not used. */
const ANSWER_LIMIT = { maxBytes: 64 * 1024, isCutOff: true }

/**
 * Signs as in the specification Standard Webhooks: the header `webhook-signature` is `v1,` and the
 * HMAC-SHA256 of id, timestamp and body in Base64. Without a secret, nothing is signed.
 */
export function createSignedWebhook(url: string, secret: string | undefined): SignedWebhook {
  const { origin, pathname, search } = new URL(url)
  const pool = createPool(origin, {})
  return {
    origin,
    async post(id, body, signal) {
      const request = {
        method: 'POST',
        path: pathname + search,
        headers: {
          'content-type': 'application/json',
          'accept-encoding': 'identity',
          ...(secret !== undefined && sign(id, body, secret)),
        },
        body,
      } as const
      const limits = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
      const { head } = await fetchWhole(pool, request, ANSWER_LIMIT, limits)
      if (isErrorStatus(head)) throw new Error(`the webhook responded with status ${head.status}`)
    },
    close: () => pool.close(),
  }
}

function sign(id: string, body: string, secret: string) {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const hmac = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${hmac}` }
}
