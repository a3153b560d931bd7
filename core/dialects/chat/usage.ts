import type { JsonObject, Usage } from '../../contract/index.ts'

/** Token counts as chat completions name them. */
export function usageOf(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cached ?? 0,
      ...(usage.cacheWrite !== undefined && { cache_write_tokens: usage.cacheWrite }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
  }
}
