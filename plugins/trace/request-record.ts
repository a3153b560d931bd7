import {
  type Account,
  type Attempt,
  type Exchange,
  GatewayError,
  type JsonObject,
} from '../../core/contract/index.ts'
import { toKoaError } from '../../core/http/errors.ts'

/** What the owner of a request may see of it. */
export interface RequestSummary {
  readonly userId: Account['userId']
  readonly view: JsonObject
}

/**
 * What became of a request that has been answered, or refused with an error; no texts of it. Thousands are kept and hardly one is ever
 * looked at, so it keeps what is there and is written out when it is.
 */
export class RequestRecord implements RequestSummary {
  readonly userId: Account['userId']
  readonly #time: number
  readonly #error: JsonObject | undefined
  readonly #id: string
  readonly #requestedModel: string | undefined
  readonly #mode: string | undefined
  readonly #reason: string | undefined
  readonly #rulesPosition: number
  readonly #target: Exchange['target']
  readonly #attempts: readonly Exchange['attempts'][number][]
  readonly #trace: readonly Exchange['trace'][number][]
  readonly #warnings: readonly Exchange['warnings'][number][]

  /** `time` is that of `Date.now()`. */
  constructor(exchange: Exchange, time: number, error?: unknown) {
    this.userId = exchange.account.userId
    this.#time = time
    this.#error = error === undefined ? undefined : describeError(error)
    this.#id = exchange.id
    this.#requestedModel = exchange.request.model
    this.#mode = exchange.route?.mode
    this.#reason = exchange.route?.reason
    this.#rulesPosition = exchange.rulesPosition
    this.#target = exchange.target
    this.#attempts = exchange.attempts.slice()
    this.#trace = keepTrace(exchange.trace)
    this.#warnings = keepWarnings(exchange.warnings)
  }

  get view(): JsonObject {
    return {
      x_request_id: this.#id,
      time: new Date(this.#time).toISOString(),
      outcome: this.#error === undefined ? 'answered' : 'failed',
      ...(this.#error !== undefined && { error: this.#error }),
      requested_model: this.#requestedModel ?? null,
      routing_mode: this.#mode ?? null,
      routing_reason: this.#reason ?? null,
      provider: this.#target?.provider ?? null,
      model: this.#target?.model ?? null,
      attempts: this.#attempts.map(showAttempt),
      rules_position: this.#rulesPosition,
      rule_trace: this.#trace,
      warnings: this.#warnings,
    }
  }
}

/** Copies lists, without the room that one that grew has left over. One that is as the last was shares its copy: many rules do the same each time. */
function createListKeeper<Item>(): (list: readonly Item[]) => readonly Item[] {
  let last: readonly Item[] = []
  return (list) => {
    const isSame = list.length === last.length && list.every((item, place) => item === last[place])
    if (!isSame) last = list.slice()
    return last
  }
}

const keepTrace = createListKeeper<Exchange['trace'][number]>()
const keepWarnings = createListKeeper<Exchange['warnings'][number]>()

function showAttempt({ target, outcome, ms }: Attempt): JsonObject {
  return { provider: target.provider, model: target.model, outcome, ms: Math.round(ms) }
}

/** Why a request was refused, for its owner to read. */
export function describeError(thrown: unknown): JsonObject {
  const error = toKoaError(thrown) ?? thrown
  if (!GatewayError.isInstance(error)) return { code: 'internal_error', http_status: 500 }
  const { code, status, message, details } = error
  const { param, meta } = details
  return { code, http_status: status, message, ...(param && { param }), ...(meta && { meta }) }
}

/** What several processes know about requests, each about those that it has served. */
export interface SharedRecords {
  /** What another process knows. Rejects when they cannot be asked. */
  find(requestId: string): Promise<RequestSummary | undefined>
  /** Lends the others what this process knows. */
  offer(find: (requestId: string) => RequestSummary | undefined): void
}
