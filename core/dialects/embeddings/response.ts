import { GatewayError, type JsonObject, type RepliedExchange, type Vector } from '../../contract/index.ts'
import { toVectorForm } from './vectors.ts'

/** Builds the list of vectors in OpenAI's format, in the order of the texts, with the extension fields. */
export function buildEmbeddingList(exchange: RepliedExchange): JsonObject {
  const { reply, request, target, usage, decoration } = exchange
  if (reply.type !== 'whole') throw new GatewayError('internal_error', 'The exchange has no whole reply.')
  const vectors: Vector[] = []
  let model = ''
  for (const part of reply.event.parts) {
    if (part.type === 'embedding') vectors[part.index] = part.vector
    else if (part.type === 'start') model = part.model
  }
  if (vectors.length === 0)
    throw new GatewayError('internal_error', 'A plugin answered the request without vectors.')
  const tokens = usage?.input ?? 0
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: toVectorForm(vector, request.encoding_format),
    })),
    model: model || (target?.model ?? ''),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    ...decoration?.last(),
  }
}
