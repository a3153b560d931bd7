import { StrictObject } from '../../core/contract/json.ts'
import type { ProviderAdapter, ProviderLocation } from '../../core/contract/provider.ts'
import { ANTHROPIC_QUIRKS, GEMINI_QUIRKS } from '../shared/quirks.ts'
import { createVertexAnthropic } from './anthropic.ts'
import { createVertexEmbeddings } from './embeddings.ts'
import { createVertexGemini } from './gemini.ts'
import { createVertexPath, vertexBaseUrl } from './location.ts'

/**
 * Vertex AI of Google Cloud: Gemini in the format `gemini`, Claude in the format `anthropic`, and embeddings
 * (docs/providers.md, "Vertex AI"):
 * https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
 */
export const vertex: ProviderAdapter = createVertexAdapter({})

function createVertexAdapter(row: ProviderLocation): ProviderAdapter {
  const pathOf = createVertexPath(row)
  const gemini = createVertexGemini(pathOf)
  const claude = createVertexAnthropic(pathOf)
  const withEmbeddings = createVertexEmbeddings(gemini, pathOf)
  return {
    ...gemini,
    // What requests hold in Anthropic's format is kept for Claude. Gemini's client converts it.
    reads: claude.reads,
    quirks: StrictObject({ ...GEMINI_QUIRKS.properties, ...ANTHROPIC_QUIRKS.properties }),
    baseUrl: vertexBaseUrl,
    configure: createVertexAdapter,
    forModel(model) {
      return model.startsWith('claude') ? claude : withEmbeddings(model)
    },
  }
}
