import type { GatewayError, JsonObject } from '../../contract/index.ts'

/** Errors of direct routing, with exactly the fields that the interface shows. */
export function routeErrorBody(error: GatewayError): JsonObject {
  const { message, type, wireCode: code, details } = error
  if (error.code === 'firewall_blocked') return { error: { message, meta: details.meta } }
  return {
    error: {
      type,
      message,
      code,
      ...(details.param !== undefined && { param: details.param }),
      ...(details.retryAfter !== undefined && { retry_after: details.retryAfter }),
    },
  }
}
