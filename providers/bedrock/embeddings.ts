import type { OperationFormat } from '../../core/contract/provider.ts'
import { unusableReplyError } from '../shared/errors.ts'
import { asObject, asTokens } from '../shared/fields.ts'
import { dimensionsToSend, textInputsOf } from '../shared/input-batches.ts'
import { buildEmbeddingsReply } from '../shared/operation-reply.ts'
import { modelPath } from './model-path.ts'

export function isCohere(model: string): boolean {
  return /(?:^|[./])cohere\./.test(model)
}

/**
 * Embeddings of Titan and Cohere by InvokeModel:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html.
 */
export const bedrockEmbeddings: OperationFormat = {
  buildRequest(request, target) {
    const dimensions = dimensionsToSend(request, target)
    const texts = textInputsOf(request, target)
    const body = isCohere(target.model)
      ? { texts, input_type: 'search_document', embedding_types: ['float'], output_dimension: dimensions }
      : { inputText: texts[0], dimensions }
    return {
      path: modelPath(target.model, 'invoke'),
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
      omitted: [],
    }
  },
  parseReply(body, request) {
    const { embedding, embeddings, inputTextTokenCount } = asObject(body)
    const vectors = embedding === undefined ? (asObject(embeddings).float ?? embeddings) : [embedding]
    if (!Array.isArray(vectors)) throw unusableReplyError("The provider's reply has no embeddings.")
    const input = asTokens(inputTextTokenCount)
    return buildEmbeddingsReply(vectors, request, {
      usage: input === undefined ? undefined : { input, output: 0 },
    })
  },
}
