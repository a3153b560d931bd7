import type { GatewayError, JsonObject } from '../../contract/index.ts'

/** An error as OpenAI clients read it. A firewall block keeps exactly the fields that the interface shows. */
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
