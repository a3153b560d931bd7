import type { ProviderAdapter, ProviderErrorResponse, ProviderRequest } from '../../core/contract/provider.ts'
import { parseJsonObject } from '../../core/util/json.ts'
import { anthropic } from '../anthropic/adapter.ts'
import { parseAnthropicError } from '../anthropic/errors.ts'
import { type AnthropicApi, buildAnthropicRequest, buildCountRequest } from '../anthropic/request.ts'
import { parseGeminiError } from '../gemini/errors.ts'
import type { VertexPath } from './location.ts'

/** In place of the header `anthropic-version`. */
const VERSION = { anthropic_version: 'vertex-2023-10-16' }

/**
 * Claude at Vertex AI, in the format `anthropic`:
 * https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
 */
export function createVertexAnthropic(pathOf: VertexPath) {
  const api: AnthropicApi = {
    pathOf: (model, isStream) => pathOf('anthropic', model, isStream ? 'streamRawPredict' : 'rawPredict'),
    bodyOf: ({ model: _, ...body }) => ({ ...VERSION, ...body }),
  }
  return {
    ...anthropic,
    format: 'vertex',
    buildAuthHeaders: (apiKey) => ({ 'x-goog-api-key': apiKey }),
    buildRequest: (request, target) => withoutVersion(buildAnthropicRequest(request, target, api)),
    tokenCount: {
      buildRequest(request, target) {
        const built = withoutVersion(buildCountRequest(request, target))
        const body = { ...VERSION, ...parseJsonObject(String(built.body)) }
        // The body names the model.
        return {
          ...built,
          path: pathOf('anthropic', 'count-tokens', 'rawPredict'),
          body: JSON.stringify(body),
        }
      },
      parseReply: anthropic.tokenCount.parseReply,
    },
    parseError: parseVertexError,
  } satisfies ProviderAdapter
}

function withoutVersion(request: ProviderRequest): ProviderRequest {
  const { 'anthropic-version': _, ...headers } = request.headers
  return { ...request, headers }
}

/** Errors of Google have its own form, those of Claude the form of Anthropic. */
function parseVertexError(failure: ProviderErrorResponse) {
  const isOfAnthropic = parseJsonObject(failure.body)?.type === 'error'
  return isOfAnthropic ? parseAnthropicError(failure) : parseGeminiError(failure)
}
