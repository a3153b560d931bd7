import {
  type ChatRequest,
  ReplyEvent,
  type ReplyPart,
  type Usage,
  type Vector,
} from '../../core/contract/chat.ts'
import { estimateInputTokens } from '../../core/tokens/prompt-tokens.ts'
import { unusableReplyError } from './errors.ts'
import { createTextPart, VectorText } from './vectors.ts'

/** What providers say about a reply that is not a chat. */
interface ReplyFacts {
  readonly id?: string
  readonly model?: string
  /** Undefined if the provider reports none: it is estimated then. */
  readonly usage: Usage | undefined
}

/** Builds the reply of an embedding model. Throws a `GatewayError` unless each text has a vector. */
export function buildEmbeddingsReply(
  vectors: readonly unknown[],
  request: ChatRequest,
  facts: ReplyFacts,
): ReplyEvent {
  const count = request.messages.filter(({ role }) => role === 'user').length
  if (vectors.length !== count || !vectors.every(isVector)) {
    const message = `The provider did not return ${count === 1 ? 'a vector' : `${count} vectors`}.`
    throw unusableReplyError(message)
  }
  const parts = vectors.map((vector, index) =>
    vector instanceof VectorText
      ? createTextPart(index, vector)
      : ({ type: 'embedding', index, vector } as const),
  )
  return buildReply(parts, request, facts)
}

/** Only the first number is looked at: vectors are long. */
function isVector(value: unknown): value is Vector | VectorText {
  if (value instanceof VectorText) return true
  if (typeof value === 'string') return value !== ''
  return Array.isArray(value) && typeof value[0] === 'number'
}

/** Builds a reply of these parts. */
export function buildReply(
  parts: readonly ReplyPart[],
  request: ChatRequest,
  { id = '', model = '', usage }: ReplyFacts,
): ReplyEvent {
  const estimate = () => {
    const input = estimateInputTokens(request, undefined, 'embeddings')
    return { input, output: 0, isEstimated: true as const }
  }
  return new ReplyEvent([
    { type: 'start', id, model },
    ...parts,
    { type: 'usage', usage: usage ?? estimate() },
    { type: 'finish', reason: 'stop' },
  ])
}
