import { type ChatRequest, type Message, ReplyEvent, type ReplyPart } from '../../core/contract/chat.ts'
import type { ApiLimits } from '../../core/contract/provider.ts'
import { inputOf } from './inputs.ts'
import { createTextPart, vectorTextOf } from './vectors.ts'

type InputLimit = NonNullable<ApiLimits['embeddings']>

/** Divides a request for embeddings into requests that the API accepts. Undefined if it is one. */
export function splitInputs(
  request: ChatRequest,
  { inputs, tokens: maxTokens = Number.POSITIVE_INFINITY }: InputLimit,
): readonly ChatRequest[] | undefined {
  const { messages } = request
  const batches: Message[][] = [[]]
  let tokens = 0
  for (const message of messages) {
    const size = countTokensOf(message)
    let batch = batches.at(-1) ?? []
    if (batch.length === inputs || (batch.length > 0 && tokens + size > maxTokens)) {
      batch = []
      batches.push(batch)
      tokens = 0
    }
    batch.push(message)
    tokens += size
  }
  return batches.length === 1 ? undefined : batches.map((batch) => ({ ...request, messages: batch }))
}

/** Of texts that have many: numbers, and languages that a tokenizer hardly knows. */
const BYTES_PER_TOKEN = 2

function countTokensOf(message: Message): number {
  const input = inputOf(message)
  return typeof input === 'string' ? Buffer.byteLength(input) / BYTES_PER_TOKEN : input.length
}

/** Joins the replies to the requests of `splitInputs`, in order. */
export function joinEmbeddings(events: readonly ReplyEvent[]): ReplyEvent {
  const parts: ReplyPart[] = []
  let index = 0
  for (const part of events.flatMap((event) => event.parts)) {
    if (part.type !== 'embedding') continue
    const text = vectorTextOf(part)
    parts.push(text === undefined ? { ...part, index } : createTextPart(index, text))
    index++
  }
  const usages = events.flatMap((event) =>
    event.parts.flatMap((part) => (part.type === 'usage' ? [part.usage] : [])),
  )
  const input = usages.reduce((sum, usage) => sum + usage.input, 0)
  const isEstimated = usages.some((usage) => usage.isEstimated)
  return new ReplyEvent([
    ...(events[0]?.parts.filter(({ type }) => type === 'start') ?? []),
    ...parts,
    { type: 'usage', usage: { input, output: 0, ...(isEstimated && { isEstimated }) } },
    { type: 'finish', reason: 'stop' },
  ])
}
