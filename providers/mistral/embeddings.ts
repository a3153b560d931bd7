import type { OperationFormat } from '../../core/contract/provider.ts'
import { parseEmbeddingsReply, parseEmbeddingsText } from '../chat-format/embeddings.ts'
import { buildChatHeaders } from '../chat-format/request.ts'
import { dimensionsToSend, textInputsOf } from '../shared/inputs.ts'

/** Mistral's embeddings: https://docs.mistral.ai/api/endpoint/embeddings. Vectors are always numbers. */
export const mistralEmbeddings: OperationFormat = {
  buildRequest(request, target) {
    const output_dimension = dimensionsToSend(request, target)
    const body = { model: target.model, input: textInputsOf(request, target), output_dimension }
    const headers = buildChatHeaders(false)
    return { path: '/v1/embeddings', headers, body: JSON.stringify(body), omitted: [] }
  },
  parseReply: parseEmbeddingsReply,
  parseText: parseEmbeddingsText,
}
