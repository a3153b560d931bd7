import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import {
  type ChatRequest,
  type ErrorDefinition,
  type Exchange,
  errorsOf,
  type GatewayError,
  type Warning,
} from '../../core/contract/index.ts'
import { createCounter, createHistogram } from '../../core/util/metrics.ts'
import { createGuardrailClient, GuardrailCallError, type GuardrailFailure } from './client.ts'
import type { GuardrailOptions, GuardrailPhase } from './options.ts'
import { collectGuardrailTexts, replaceGuardrailTexts } from './texts.ts'
import type { Verdict } from './verdict.ts'

export const GUARDRAIL_ERROR_CODES = {
  guardrail_blocked: {
    ...{ status: 403, type: 'firewall_error', of: 'inference' },
    description: 'The external guardrail blocked the request or its reply.',
  },
  guardrail_unavailable: {
    ...{ status: 503, type: 'service_unavailable_error', of: 'inference', failsClosed: true },
    description: 'The external guardrail could not check the request or its reply.',
  },
} as const satisfies Readonly<Record<string, ErrorDefinition>>

const guardrailError = errorsOf(GUARDRAIL_ERROR_CODES)

/** The external guardrail, with what happens if it fails. */
export interface Guardrail {
  /**
   * Returns the request, or the one that the guardrail has masked. Throws if it blocks, or if it failed and
   * failures block.
   */
  check(phase: GuardrailPhase, request: ChatRequest, exchange: Exchange): Promise<ChatRequest>
  /** Handles texts that cannot be checked like a failed call. */
  skip(phase: GuardrailPhase, exchange: Exchange, reason: string): void
  close(): Promise<void>
}

export function createGuardrail(
  options: GuardrailOptions,
  secret: string | undefined,
  logger: Logger,
  metrics: Registry,
): Guardrail {
  const client = createGuardrailClient({
    url: new URL(options.url),
    headers: secret === undefined ? {} : toSecretHeader(options.secret_header, secret),
    timeoutMs: options.timeout_ms,
    maxRequestBytes: options.max_request_bytes,
    maxAnswerBytes: options.max_answer_bytes,
    breaker: { min_requests: options.breaker_min_requests, open_ms: options.breaker_open_ms },
  })
  const { countCall, observeDuration } = createGuardrailMetrics(metrics)

  function fail(phase: GuardrailPhase, exchange: Exchange, failure: GuardrailFailure, reason: string): void {
    countCall(phase, failure)
    const { id: requestId, account } = exchange
    logger.warn({ requestId, user: account.userId, phase, reason }, 'guardrail check failed')
    if (options.on_failure === 'block') throw uncheckedError(phase, failure)
    const why =
      failure === 'too_large' ? 'it is larger than the guardrail checks' : 'the guardrail is unavailable'
    const message = `The ${phase} was not checked: ${why}.`
    exchange.warnings.push(toWarning(phase, message))
  }

  async function obey(
    verdict: Verdict,
    phase: GuardrailPhase,
    request: ChatRequest,
    { trace }: Exchange,
  ): Promise<ChatRequest> {
    if (verdict.action === 'allow') return request
    const scope = phase === 'reply' ? { scope: 'response' as const } : {}
    const { action } = verdict
    trace.push({
      kind: 'guardrail',
      rule_id: 0,
      name: 'guardrail-webhook',
      action,
      outcome: 'applied',
      ...scope,
    })
    if (verdict.action === 'block') throw blockedError(phase, verdict.reason)
    const masked = await replaceGuardrailTexts(request, verdict.replacements)
    if (masked !== undefined) return masked
    throw blockedError(phase, 'It masks text that cannot be replaced.')
  }

  return {
    async check(phase, request, exchange) {
      const texts = await collectGuardrailTexts(request)
      if (texts.length === 0) return request
      const { account } = exchange
      const body = {
        version: 1,
        phase,
        request_id: exchange.id,
        user: { id: account.userId, plan: account.plan },
        model: exchange.request.model ?? null,
        texts,
      }
      const startedAt = performance.now()
      let verdict: Verdict
      try {
        verdict = await client.check(body, texts.length, account.userId, exchange.client)
      } catch (error) {
        if (exchange.client.isAborted) countCall(phase, 'cancelled')
        if (exchange.client.isAborted || !(error instanceof GuardrailCallError)) throw error
        fail(phase, exchange, error.failure, error.message)
        return request
      } finally {
        observeDuration(phase, performance.now() - startedAt)
      }
      countCall(phase, verdict.action)
      return obey(verdict, phase, request, exchange)
    },
    skip: (phase, exchange, reason) => fail(phase, exchange, 'too_large', reason),
    close: () => client.close(),
  }
}

function toSecretHeader(name: string, secret: string): Readonly<Record<string, string>> {
  return { [name]: name.toLowerCase() === 'authorization' ? `Bearer ${secret}` : secret }
}

/** Warnings about replies are not there when a stream starts. */
function toWarning(phase: GuardrailPhase, message: string): Warning {
  return { code: 'guardrail', message, ...(phase === 'reply' && { scope: 'response' }) }
}

export function blockedError(phase: GuardrailPhase, reason: string | undefined): GatewayError {
  const message = `The ${phase} was blocked by the guardrail${reason ? `: ${reason}` : '.'}`
  return guardrailError('guardrail_blocked', message)
}

function uncheckedError(phase: GuardrailPhase, failure: GuardrailFailure): GatewayError {
  if (failure === 'too_large') return blockedError(phase, 'It is larger than the guardrail checks.')
  const message = `The ${phase} could not be checked: the external guardrail is unavailable. Try again later.`
  return guardrailError('guardrail_unavailable', message, { retryAfter: 1 })
}

function createGuardrailMetrics(metrics: Registry) {
  const calls = createCounter(metrics, {
    name: 'signalbox_guardrail_calls_total',
    help: 'Checks by the external guardrail, by phase and outcome.',
    labelNames: ['phase', 'outcome'],
  })
  const duration = createHistogram(metrics, {
    name: 'signalbox_guardrail_duration_seconds',
    help: 'Duration of checks by the external guardrail, by phase.',
    labelNames: ['phase'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  })
  return {
    countCall: (phase: GuardrailPhase, outcome: string) => calls(phase, outcome).inc(),
    observeDuration: (phase: GuardrailPhase, ms: number) => duration(phase).observe(ms / 1000),
  }
}
