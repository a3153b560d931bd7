import type { JsonObject } from '../../core/contract/json.ts'
import type { Usage } from '../../core/contract/reply.ts'
import { readNumber, readObject } from '../read-fields.ts'

/** Reads a `usage` object, of which any field may be null: cached input is counted beside the rest there (reference 5.6). */
export function readUsage(usage: JsonObject): Usage {
  const cached = readNumber(usage.cache_read_input_tokens)
  const cacheWrite = readNumber(usage.cache_creation_input_tokens)
  const reasoning = readNumber(readObject(usage.output_tokens_details).thinking_tokens)
  return {
    input: (readNumber(usage.input_tokens) ?? 0) + (cached ?? 0) + (cacheWrite ?? 0),
    output: readNumber(usage.output_tokens) ?? 0,
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning }),
  }
}
