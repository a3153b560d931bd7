import type { Attributes } from '@opentelemetry/api'
import type { EndedExchange, EndedRequest, Exchange, Target } from '../../core/contract/index.ts'
import { AddedFields } from '../../core/dialects/signalbox-fields.ts'

/**
 * The attributes of spans, by OpenTelemetry's conventions for HTTP and for generative AI. See
 * docs/decisions/tracing.md, "Attributes have no text of requests".
 */

const PROVIDER_NAMES: Readonly<Record<string, string>> = { gemini: 'gcp.gemini', mistral: 'mistral_ai' }

/** More applied rules of one request are left out. */
const MAX_RULES = 32

/** Attributes of the span of a request. */
export function requestAttributes(request: EndedRequest): Attributes {
  const { id, method, endpoint, status, isAborted, error, account, exchange } = request
  return {
    'http.request.method': method,
    'http.route': endpoint,
    'http.response.status_code': status,
    'error.type': isAborted ? 'client_disconnected' : error?.code,
    'signalbox.request.id': id,
    'signalbox.user.id': account?.userId,
    ...(exchange && exchangeAttributes(exchange)),
  }
}

function exchangeAttributes(exchange: EndedExchange): Attributes {
  const { operation, request, target, route, rulesPosition, trace, costUsd } = exchange
  const applied = trace.filter(({ outcome }) => outcome === 'applied').slice(0, MAX_RULES)
  const added = Object.entries(AddedFields.of(exchange) ?? {})
  return {
    'gen_ai.operation.name': operation ?? 'chat',
    'gen_ai.request.model': request.model,
    ...(target && { 'gen_ai.provider.name': providerName(target), 'gen_ai.response.model': target.model }),
    ...replyAttributes(exchange),
    'signalbox.routing.mode': route?.mode,
    'signalbox.routing.reason': route?.reason,
    'signalbox.rules.position': rulesPosition,
    'signalbox.rules.applied': applied.map(({ kind, rule_id, action }) => `${kind}:${rule_id}:${action}`),
    ...Object.fromEntries(added.map(([name, value]) => [`signalbox.${name}`, value])),
    'signalbox.cost_usd': costUsd ?? undefined,
  }
}

/** Attributes of the span of a call to a provider. */
export function callAttributes(target: Target, { operation, request }: Exchange): Attributes {
  return {
    'gen_ai.operation.name': operation ?? 'chat',
    'gen_ai.provider.name': providerName(target),
    'gen_ai.request.model': target.model,
    ...(target.deployment !== undefined && { 'signalbox.deployment': target.deployment }),
    'gen_ai.request.temperature': request.temperature ?? undefined,
    'gen_ai.request.top_p': request.top_p ?? undefined,
    'gen_ai.request.max_tokens': request.max_tokens ?? undefined,
    'gen_ai.request.stream': request.stream === true ? true : undefined,
  }
}

/** What is known of a reply when it has ended. */
export function replyAttributes({ usage, finishReason }: EndedExchange): Attributes {
  return {
    ...(usage && {
      'gen_ai.usage.input_tokens': usage.input,
      'gen_ai.usage.output_tokens': usage.output,
      'gen_ai.usage.cache_read.input_tokens': usage.cached,
    }),
    ...(finishReason !== undefined && { 'gen_ai.response.finish_reasons': [finishReason] }),
  }
}

function providerName({ provider }: Target): string {
  return PROVIDER_NAMES[provider] ?? provider
}
