/**
 * Settings with a negligible latency weight, so that model choices do not depend on the duration of earlier
 * calls.
 */
export const DECIDABLE = `
rate_limits: { requests_per_minute: { free: null, paid: null } }
modes:
  balance: { cost: 40, quality: 60, latency: 0.000001 }
  cost: { cost: 90, quality: 10, latency: 0.000001 }
  quality: { cost: 10, quality: 90, latency: 0.000001 }
  latency: { cost: 30, quality: 70, latency: 0.000001 }
# Not equal to gpt-6.1-sol in cost and quality: of equal models, the measured latency decides.
models:
  - id: gemini-4-argon
    provider: gemini
    context: 1048576
    max_output: 65536
    price: { input: 2, output: 10 }
    quality: 94
    latency_ms: 6000
    capabilities: { tools: true, images: true, json: schema }
`

/** The text that the sandbox repeats in its reply, which shows what was sent to it. */
// biome-ignore lint/suspicious/noExplicitAny: requests of all endpoints
export function lastText(request: any): string | null {
  const { content } = request?.messages.at(-1) ?? { content: null }
  return Array.isArray(content) ? content[0].text : content
}

/** What was decided about a request. */
// biome-ignore lint/suspicious/noExplicitAny: both request records and simulations
export function decisionIn(record: any): object {
  const { routing_mode, routing_reason, rule_trace, warnings, error = null, provider, model } = record
  return {
    routing_mode,
    routing_reason,
    rule_trace,
    warnings,
    error,
    target: error ? null : { provider, model },
  }
}
