import { type ClientConnection, GatewayError } from '../contract/index.ts'
import { hasMoreValues } from '../util/json.ts'
import { createSharedQuota, type QuotaLimits, type SharedQuota } from '../util/shared-quota.ts'

/** Smaller bodies are not counted: they take less memory than the rest of their requests. */
const MIN_COUNTED_BYTES = 16 * 1024

/** What a field or an item of a parsed body takes besides its text, on average. An empty array takes 40. */
const VALUE_BYTES = 32

/** Of smaller bodies, the values are counted once they are parsed, which is cheaper. */
const MIN_SCANNED_BYTES = 1024 * 1024

/** Callers without an account are operators. */
type Owner = number | undefined

interface BodyOwner {
  readonly client: Pick<ClientConnection, 'onClose'>
  readonly account?: { readonly userId: number } | undefined
}

/**
 * Limits what the bodies of all requests in flight take, and those of each user. See docs/decisions/http.md,
 * "Bodies count until the response has ended".
 */
export class BodyQuota {
  readonly maxBytes: number
  readonly held: SharedQuota<Owner>

  constructor(limits: QuotaLimits) {
    this.maxBytes = Math.min(limits.perOwner, limits.total)
    this.held = createSharedQuota(limits)
  }

  /** Counts the body of a request until its response has ended. */
  count(request: BodyOwner): CountedBody {
    return new CountedBody(this, request)
  }
}

/** The body of a request, as far as it has arrived. */
export class CountedBody {
  readonly #quota: BodyQuota
  readonly #client: BodyOwner['client']
  readonly #owner: Owner
  #bytes = 0

  constructor(quota: BodyQuota, { client, account }: BodyOwner) {
    this.#quota = quota
    this.#client = client
    this.#owner = account?.userId
  }

  /** Raises the bytes that count. Throws 503 if they exceed what is left, 413 if they always will. */
  raise(bytes: number): void {
    if (bytes < MIN_COUNTED_BYTES || bytes <= this.#bytes) return
    const { maxBytes, held } = this.#quota
    if (bytes > maxBytes) throw createTooLargeError(maxBytes)
    const exceeded = held.take(this.#owner, bytes - this.#bytes)
    if (exceeded !== undefined) throw createQuotaError(exceeded === 'perOwner')
    const isFirst = this.#bytes === 0
    this.#bytes = bytes
    if (isFirst) this.#client.onClose(() => held.release(this.#owner, this.#bytes))
  }

  /** Counts the values of the parsed body, too. Throws as `raise`. */
  raiseParsed(bytes: number, values: number): void {
    this.raise(bytes + (bytes < MIN_COUNTED_BYTES ? 0 : values * VALUE_BYTES))
  }

  /** Throws 413 for a large JSON text with more values than the body of a request may have. */
  checkValues(json: Buffer): void {
    const { maxBytes } = this.#quota
    if (json.length >= MIN_SCANNED_BYTES && hasMoreValues(json, (maxBytes - json.length) / VALUE_BYTES))
      throw createTooLargeError(maxBytes)
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
