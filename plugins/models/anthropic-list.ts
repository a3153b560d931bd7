import type { JsonObject } from '../../core/contract/index.ts'

/** Anthropic's format requires a time, but the catalog has no creation times. */
const UNKNOWN_TIME = '1970-01-01T00:00:00Z'

/** Returns a model of OpenAI's format in Anthropic's. */
export function toAnthropicModel({ id }: JsonObject): JsonObject {
  return { type: 'model', id, display_name: id, created_at: UNKNOWN_TIME }
}

/** The list is one page. */
export function toAnthropicModelList(models: readonly JsonObject[]): JsonObject {
  const data = models.map(toAnthropicModel)
  return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
}
