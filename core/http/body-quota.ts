import { type GatewayContext, GatewayError } from '../contract/index.ts'
import { hasMoreValues } from '../util/json.ts'
import { createSharedQuota, type QuotaLimits } from '../util/shared-quota.ts'

/** Smaller bodies are not counted: they take less memory than the rest of their requests. */
export const MIN_COUNTED_BYTES = 16 * 1024

/** What a field or an item of a parsed body takes besides its text, on average. An empty array takes 40. */
const VALUE_BYTES = 32

/** Of smaller bodies, the values are counted once they are parsed, which is cheaper. */
const MIN_SCANNED_BYTES = 1024 * 1024

/**
 * Limits what the bodies of all requests in flight take, and those of each user. See docs/decisions/http.md,
 * "Bodies count until the response has ended".
 */
export interface BodyQuota {
  /** Counts the body of a request until its response has ended. */
  count(ctx: GatewayContext): CountedBody
}

/** The body of a request, as far as it has arrived. */
export interface CountedBody {
  /** Raises the bytes that count. Throws 503 if they exceed what is left, 413 if they always will. */
  raise(bytes: number): void
  /** Counts the values of the parsed body, too. Throws as `raise`. */
  raiseParsed(bytes: number, values: number): void
  /** Throws 413 for a large JSON text with more values than the body of a request may have. */
  checkValues(json: Buffer): void
}

/** Callers without an account are operators. */
type Owner = number | undefined

export function createBodyQuota(limits: QuotaLimits): BodyQuota {
  const quota = createSharedQuota<Owner>(limits)
  const maxBytes = Math.min(limits.perOwner, limits.total)
  return {
    count({ client, account }) {
      const owner: Owner = (account as typeof account | undefined)?.userId
      let held = 0
      function raise(bytes: number): void {
        if (bytes < MIN_COUNTED_BYTES || bytes <= held) return
        if (bytes > maxBytes) throw createTooLargeError(maxBytes)
        const exceeded = quota.take(owner, bytes - held)
        if (exceeded !== undefined) throw createQuotaError(exceeded === 'perOwner')
        const isFirst = held === 0
        held = bytes
        if (isFirst) client.onClose(() => quota.release(owner, held))
      }
      return {
        raise,
        raiseParsed: (bytes, values) => raise(bytes + (bytes < MIN_COUNTED_BYTES ? 0 : values * VALUE_BYTES)),
        checkValues(json) {
          const isLarge = json.length >= MIN_SCANNED_BYTES
          if (isLarge && hasMoreValues(json, (maxBytes - json.length) / VALUE_BYTES))
            throw createTooLargeError(maxBytes)
        },
      }
    },
  }
}

function createTooLargeError(maxBytes: number): GatewayError {
  const message =
    `The request body takes more memory than the ${maxBytes} bytes that a request may take: each field and ` +
    `each item of a list takes ${VALUE_BYTES} bytes besides its text.`
  return new GatewayError('body_too_large', message)
}

function createQuotaError(isOfUser: boolean): GatewayError {
  const whose = isOfUser ? "the user's requests" : 'all requests'
  const message = `The bodies of ${whose} in flight take as much memory as they may. Try again later.`
  return new GatewayError('memory_limit_reached', message, { retryAfter: 1 })
}
