import type { GatewayError, JsonObject } from '../../contract/index.ts'

/**
 * Builds an error body as OpenAI clients expect it. A firewall block has only the documented fields
 * (docs/api.md, "Errors").
 */
export function chatErrorBody(error: GatewayError): JsonObject {
  const { message, type, status, details } = error
  if (error.code === 'firewall_blocked') return { error: { message, meta: details.meta } }
  const retry = details.retryAfter !== undefined && { retry_after: details.retryAfter }
  return {
    error: {
      message,
      type,
      param: details.param ?? null,
      code: error.wireCode,
      http_status: status,
      ...retry,
    },
  }
}
