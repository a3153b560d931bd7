import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { Usage } from '../../core/contract/reply.ts'
import { readNumber, readObject } from '../read-fields.ts'

/** Token counts; undefined where the record reports none, as on all but one chunk of a stream. */
export function readUsage(value: unknown): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const cached = readCached(value)
  const cacheWrite = readNumber(readObject(value.prompt_tokens_details).cache_write_tokens)
  const reasoning = readNumber(readObject(value.completion_tokens_details).reasoning_tokens)
  return {
    input: readNumber(value.prompt_tokens) ?? 0,
    output: readNumber(value.completion_tokens) ?? 0,
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning }),
  }
}

/** OpenAI's name first, then Mistral's two, then DeepSeek's. */
function readCached(usage: JsonObject): number | undefined {
  return (
    readNumber(readObject(usage.prompt_tokens_details).cached_tokens) ??
    readNumber(readObject(usage.prompt_token_details).cached_tokens) ??
    readNumber(usage.num_cached_tokens) ??
    readNumber(usage.prompt_cache_hit_tokens)
  )
}
