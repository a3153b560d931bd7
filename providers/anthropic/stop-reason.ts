import type { FinishReason } from '../../core/contract/reply.ts'

/** Reads a `stop_reason` (reference 5.6). One that we do not know counts as `stop`. */
export function readStopReason(value: unknown): FinishReason {
  switch (value) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length'
    case 'tool_use':
      return 'tool_calls'
    case 'refusal':
      return 'content_filter'
    default:
      return 'stop'
  }
}
