import type { ChatRequest, Model } from '../../core/contract/index.ts'
import { stringsOf } from '../../core/text/texts-of.ts'

/** What a request asks of a model. Tokens are estimates: four characters each. */
export interface Needs {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly tools: boolean
  readonly images: boolean
  readonly json: 'none' | 'object' | 'schema'
}

/** Output that is expected where the request sets no limit. */
const USUAL_OUTPUT = 500

export function needsOf(request: ChatRequest): Needs {
  const characters = stringsOf(request).reduce((sum, text) => sum + text.length, 0)
  const limit = request.max_completion_tokens ?? request.max_tokens
  return {
    inputTokens: Math.ceil(characters / 4),
    outputTokens: Math.min(limit ?? USUAL_OUTPUT, USUAL_OUTPUT),
    tools: (request.tools?.length ?? 0) > 0,
    images: request.messages.some(
      ({ content }) => Array.isArray(content) && content.some(({ type }) => type === 'image_url'),
    ),
    json: jsonNeed(request.response_format?.type),
  }
}

/** Why the model cannot serve the request; undefined when it can. */
export function misses(model: Model, needs: Needs): string | undefined {
  const { tools, images, json } = model.capabilities
  if (needs.tools && !tools) return 'tools'
  if (needs.images && !images) return 'images'
  if (needs.json === 'schema' && json !== 'schema') return 'response_format'
  if (needs.json === 'object' && json === 'none') return 'response_format'
  return needs.inputTokens + needs.outputTokens > model.context ? 'context' : undefined
}

function jsonNeed(format: string | undefined): Needs['json'] {
  if (format === 'json_schema') return 'schema'
  return format === 'json_object' ? 'object' : 'none'
}
