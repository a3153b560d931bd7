import type { ChatRequest, Model } from '../../core/contract/index.ts'
import { stringValues } from '../../core/text/request-texts.ts'
import type { Capabilities } from '../../providers/shared/catalog.ts'

/** What a request asks of a model. Tokens are estimates: four characters each. */
export interface Requirements {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly tools: boolean
  readonly images: boolean
  readonly json: number
}

/** Output that is expected where the request sets no limit. */
const USUAL_OUTPUT = 500

export function requirementsOf(request: ChatRequest): Requirements {
  const characters = stringValues(request).reduce((sum, text) => sum + text.length, 0)
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

/** Why a model cannot serve the request; undefined when it can. Of a model that is not catalogued only its provider is known. */
export function findMissingCapability(
  model: Model | undefined,
  capabilities: Capabilities | undefined,
  needs: Requirements,
): string | undefined {
  if (needs.json > (capabilities ? JSON_LEVELS[capabilities.json] : 0)) return 'response_format'
  if (model === undefined) return undefined
  if (needs.json > JSON_LEVELS[model.capabilities.json]) return 'response_format'
  if (needs.tools && !model.capabilities.tools) return 'tools'
  if (needs.images && !model.capabilities.images) return 'images'
  return needs.inputTokens + needs.outputTokens > model.context ? 'context' : undefined
}

/** JSON modes, each including those below. */
const JSON_LEVELS = { none: 0, object: 1, schema: 2 } as const

function jsonNeed(format: string | undefined): number {
  if (format === 'json_schema') return JSON_LEVELS.schema
  return format === 'json_object' ? JSON_LEVELS.object : JSON_LEVELS.none
}
