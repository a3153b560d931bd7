import {
  type Account,
  type Attempt,
  type EndedExchange,
  GatewayError,
  type JsonObject,
} from '../../core/contract/index.ts'
import { fromKoaError } from '../../core/http/errors.ts'

/** A record of a request as its owner sees it. */
export interface RequestSummary {
  readonly userId: Account['userId']
  /** The response body of the endpoint. */
  readonly view: JsonObject
}

/**
 * A record of a completed or failed request, without any text of it. Thousands are kept and hardly any is
 * read, so it references the data of the exchange and builds its view on demand.
 */
export class RequestRecord implements RequestSummary {
  readonly userId: Account['userId']
  readonly #endedAt: number
  readonly #error: JsonObject | undefined
  readonly #id: string
  readonly #requestedModel: string | undefined
  readonly #mode: string | undefined
  readonly #reason: string | undefined
  readonly #rulesPosition: number
  readonly #target: EndedExchange['target']
  readonly #attempts: readonly EndedExchange['attempts'][number][]
  readonly #trace: readonly EndedExchange['trace'][number][]
  readonly #warnings: readonly EndedExchange['warnings'][number][]

  /** `endedAt` is a Unix time in milliseconds; `error` is what the request failed with. */
  constructor(exchange: EndedExchange, endedAt: number, error?: unknown) {
    this.userId = exchange.account.userId
    this.#endedAt = endedAt
    this.#error = error === undefined ? undefined : toRecordedError(error)
    this.#id = exchange.id
    this.#requestedModel = exchange.request.model
    this.#mode = exchange.route?.mode
    this.#reason = exchange.route?.reason
    this.#rulesPosition = exchange.rulesPosition
    this.#target = exchange.target
    this.#attempts = exchange.attempts.slice()
    this.#trace = copyTrace(exchange.trace)
    this.#warnings = copyWarnings(exchange.warnings)
  }

  get view(): JsonObject {
    return {
      x_request_id: this.#id,
      time: new Date(this.#endedAt).toISOString(),
      outcome: this.#error === undefined ? 'answered' : 'failed',
      ...(this.#error !== undefined && { error: this.#error }),
      requested_model: this.#requestedModel ?? null,
      routing_mode: this.#mode ?? null,
      routing_reason: this.#reason ?? null,
      provider: this.#target?.provider ?? null,
      model: this.#target?.model ?? null,
      attempts: this.#attempts.map(toAttemptView),
      rules_position: this.#rulesPosition,
      rule_trace: this.#trace,
      warnings: this.#warnings,
    }
  }
}

/**
 * Copies arrays, which drops the spare capacity of arrays that have grown. An array equal to the previous one
 * shares its copy, because a user's rules usually produce the same entries for each request.
 */
function createArrayCopier<Item>(): (items: readonly Item[]) => readonly Item[] {
  let last: readonly Item[] = []
  return (items) => {
    const isSame = items.length === last.length && items.every((item, index) => item === last[index])
    if (!isSame) last = items.slice()
    return last
  }
}

const copyTrace = createArrayCopier<EndedExchange['trace'][number]>()
const copyWarnings = createArrayCopier<EndedExchange['warnings'][number]>()

function toAttemptView({ target, outcome, ms }: Attempt): JsonObject {
  return { provider: target.provider, model: target.model, outcome, ms: Math.round(ms) }
}

/** Returns the parts of an error that the owner of the request may see. */
export function toRecordedError(thrown: unknown): JsonObject {
  const error = fromKoaError(thrown) ?? thrown
  if (!GatewayError.isInstance(error)) return { code: 'internal_error', http_status: 500 }
  const { code, status, message, details } = error
  const { param, meta } = details
  return { code, http_status: status, message, ...(param && { param }), ...(meta && { meta }) }
}

/**
 * The request records of all processes of a cluster; each process holds those of the requests that it
 * handled.
 */
export interface SharedRecords {
  /** Looks up a record in the other processes. Rejects if they cannot be reached. */
  find(requestId: string): Promise<RequestSummary | undefined>
  /** Registers the lookup that answers the other processes. */
  offer(find: (requestId: string) => RequestSummary | undefined): void
}
