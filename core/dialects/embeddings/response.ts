import { GatewayError, type JsonObject, type RepliedExchange, type ReplyPart } from '../../contract/index.ts'
import { vectorTextOf } from './vector-text.ts'
import { toVectorForm } from './vectors.ts'

type EmbeddingPart = Extract<ReplyPart, { type: 'embedding' }>

/**
 * Builds the list of vectors in OpenAI's format, in the order of the texts, with the extension fields: as
 * JSON text if the provider wrote the vectors as the client wants them.
 */
export function buildEmbeddingList(exchange: RepliedExchange): JsonObject | string {
  const { reply, request, target, usage, decoration } = exchange
  if (reply.type !== 'whole') throw new GatewayError('internal_error', 'The exchange has no whole reply.')
  const embeddings: EmbeddingPart[] = []
  let model = ''
  for (const part of reply.event.parts) {
    if (part.type === 'embedding') embeddings[part.index] = part
    else if (part.type === 'start') model = part.model
  }
  if (embeddings.length === 0)
    throw new GatewayError('internal_error', 'A plugin answered the request without vectors.')
  const tokens = usage?.input ?? 0
  const others = {
    model: model || (target?.model ?? ''),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    ...decoration?.last(),
  }
  const { encoding_format: format } = request
  return (
    (format === 'base64' ? undefined : joinTexts(embeddings, others)) ?? toList(embeddings, others, format)
  )
}

function toList(embeddings: readonly EmbeddingPart[], others: JsonObject, format: unknown): JsonObject {
  const data = embeddings.map(({ vector }, index) => ({
    object: 'embedding',
    index,
    embedding: toVectorForm(vector, format),
  }))
  return { object: 'list', data, ...others }
}

/** Undefined unless all vectors have a text. */
function joinTexts(embeddings: readonly EmbeddingPart[], others: JsonObject): string | undefined {
  let data = ''
  for (const [index, part] of embeddings.entries()) {
    const text = part && vectorTextOf(part)
    if (text === undefined) return undefined
    if (index > 0) data += ','
    data += `{"object":"embedding","index":${index},"embedding":[${text.numbers}]}`
  }
  return `{"object":"list","data":[${data}],${JSON.stringify(others).slice(1)}`
}
