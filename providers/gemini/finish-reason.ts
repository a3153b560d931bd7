import type { FinishReason } from '../../core/contract/reply.ts'

/** https://ai.google.dev/api/generate-content#FinishReason; one that we do not know counts as `stop`. */
export function readFinishReason(reason: string, hasCalled: boolean): FinishReason {
  if (LENGTH.has(reason)) return 'length'
  if (FILTERED.has(reason)) return 'content_filter'
  return hasCalled ? 'tool_calls' : 'stop'
}

/** `CONTINUATION`: there is more, on another request (reference 6.9). */
const LENGTH = new Set(['MAX_TOKENS', 'CONTINUATION'])

const FILTERED = new Set(
  `SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII
  IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER NO_IMAGE`.split(/\s+/),
)

/** True where the model made nothing that can be sent, and another try may do better. */
export function isFailure(reason: string): boolean {
  return FAILED.has(reason)
}

const FAILED = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
])
