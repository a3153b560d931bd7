import { GatewayError } from '../../core/contract/errors.ts'
import type { OperationFormat } from '../../core/contract/provider.ts'
import { parseEmbeddingsReply, parseEmbeddingsText } from '../chat-format/embeddings.ts'
import { parseModerationReply } from '../chat-format/moderations.ts'
import { buildChatHeaders } from '../chat-format/wire.ts'
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

/** Mistral's moderations: https://docs.mistral.ai/api/endpoint/classifiers. */
export const mistralModerations: OperationFormat = {
  buildRequest(request, target) {
    const hasMedia = request.messages.some(
      ({ content }) => Array.isArray(content) && content.some(({ type }) => type !== 'text'),
    )
    if (hasMedia) {
      const message = `${target.model} judges texts only. Use a model of OpenAI for images.`
      throw new GatewayError('unsupported_parameter', message, { param: 'input' })
    }
    const body = JSON.stringify({ model: target.model, input: textInputsOf(request, target) })
    return { path: '/v1/moderations', headers: buildChatHeaders(false), body, omitted: [] }
  },
  parseReply: parseModerationReply,
}
