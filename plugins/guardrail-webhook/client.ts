import { type ClientConnection, GatewayError } from '../../core/contract/index.ts'
import { whileWaiting } from '../../core/util/while-waiting.ts'
import { createCircuitBreakers } from '../../providers/shared/circuit.ts'
import { createPool } from '../../providers/shared/connection.ts'
import { fetchWhole } from '../../providers/shared/http.ts'
import type { BreakerSettings } from '../../providers/shared/model-breaker.ts'
import { parseVerdict, type Verdict } from './verdict.ts'

/** Why a call has no verdict. */
export type GuardrailFailure =
  | 'timeout'
  | 'unreachable'
  | 'error_status'
  | 'malformed'
  | 'too_large'
  | 'circuit_open'

/** A call failed. The message has neither texts nor the secret. */
export class GuardrailCallError extends Error {
  readonly failure: GuardrailFailure

  constructor(failure: GuardrailFailure, message: string, options?: ErrorOptions) {
    super(message, options)
    this.failure = failure
  }
}

export interface GuardrailClientOptions {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly maxRequestBytes: number
  readonly maxAnswerBytes: number
  readonly breaker: Pick<BreakerSettings, 'min_requests' | 'open_ms'>
}

export interface GuardrailClient {
  /**
   * Resolves with the verdict about `textCount` texts. Rejects with a `GuardrailCallError`, or with the
   * reason of the client's signal.
   */
  check(body: object, textCount: number, userId: number, client: ClientConnection): Promise<Verdict>
  close(): Promise<void>
}

/** The circuit opens for one user alone, or for all when calls of several users fail, as for providers. */
const BREAKER = { failure_ratio: 0.5, min_callers: 3, window_ms: 30_000 }
const TARGET = { provider: 'guardrail', model: 'webhook' }

export function createGuardrailClient(options: GuardrailClientOptions): GuardrailClient {
  const { url, headers, timeoutMs, maxRequestBytes, maxAnswerBytes } = options
  const pool = createPool(url.origin, { connectTimeout: timeoutMs })
  const breakers = createCircuitBreakers({ ...BREAKER, ...options.breaker })

  async function post(body: string, signal: AbortSignal): Promise<string> {
    const request = {
      method: 'POST',
      path: url.pathname + url.search,
      headers: {
        ...headers,
        'content-type': 'application/json',
        accept: 'application/json',
        'accept-encoding': 'identity',
      },
      body,
    } as const
    const limit = { maxBytes: maxAnswerBytes, isCutOff: false }
    const { head, text, complete } = await fetchWhole(pool, request, limit, signal)
    if (head.status !== 200)
      throw new GuardrailCallError('error_status', `the guardrail answered with ${head.status}`)
    if (complete) return text
    throw new GuardrailCallError('malformed', `the answer is larger than ${maxAnswerBytes} bytes`)
  }

  async function call(body: string, textCount: number, client: ClientConnection): Promise<Verdict> {
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const posted = post(body, AbortSignal.any([timeout, client.signal]))
      const verdict = parseVerdict(await whileWaiting(client.waiting, posted), textCount)
      if (verdict !== undefined) return verdict
      throw new GuardrailCallError('malformed', 'the answer is not a verdict')
    } catch (error) {
      if (error instanceof GuardrailCallError) throw error
      client.signal.throwIfAborted()
      if (timeout.aborted)
        throw new GuardrailCallError('timeout', `no complete answer within ${timeoutMs} ms`, { cause: error })
      throw new GuardrailCallError('unreachable', describeNetworkError(error), { cause: error })
    }
  }

  return {
    async check(content, textCount, userId, client) {
      const body = JSON.stringify(content)
      if (Buffer.byteLength(body) > maxRequestBytes)
        throw new GuardrailCallError('too_large', `the texts are larger than ${maxRequestBytes} bytes`)
      const by = { caller: userId, isRetry: false }
      try {
        return await breakers.guard(TARGET, by, () => call(body, textCount, client).catch(toBreakerError))
      } catch (error) {
        throw fromBreakerError(error)
      }
    },
    close: () => pool.destroy(),
  }
}

/** Circuit breakers count errors of the gateway with a status from 500 on. */
function toBreakerError(error: unknown): never {
  if (!(error instanceof GuardrailCallError)) throw error
  throw new GatewayError('provider_error', error.message, { cause: error })
}

function fromBreakerError(error: unknown): unknown {
  if (!GatewayError.isInstance(error)) return error
  if (error.cause instanceof GuardrailCallError) return error.cause
  if (error.code === 'shutting_down') return error
  return new GuardrailCallError('circuit_open', 'the guardrail has been failing for this user')
}

function describeNetworkError(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
  return `the guardrail could not be reached${code}`
}
