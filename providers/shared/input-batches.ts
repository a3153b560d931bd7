import {
  type ChatRequest,
  type Message,
  type Reply,
  ReplyEvent,
  type ReplyPart,
  TokenIds,
} from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { ApiLimits, ParameterChange, Target } from '../../core/contract/provider.ts'
import { createTextPart, vectorTextOf } from './vectors.ts'

/** Returns the inputs of a request that is not a chat: the contents of its user messages, in order. */
export function inputsOf({ messages }: ChatRequest): readonly (string | TokenIds)[] {
  return messages.filter(({ role }) => role === 'user').map(inputOf)
}

/** The text or token ids of a message. */
function inputOf({ content }: Message): string | TokenIds {
  if (typeof content === 'string') return content
  const parts = content ?? []
  const tokenIds = parts.find(({ token_ids }) => token_ids instanceof TokenIds)?.token_ids
  return tokenIds instanceof TokenIds ? tokenIds : parts.map(({ text = '' }) => text).join('\n')
}

/** Returns the inputs of a request for a provider that reads texts only. Throws 400 for token ids. */
export function textInputsOf(request: ChatRequest, { model }: Target): readonly string[] {
  return inputsOf(request).map((input) => {
    if (typeof input === 'string') return input
    const message = `${model} does not support token ids. Send the input as text.`
    throw new GatewayError('unsupported_parameter', message, { param: 'input' })
  })
}

/**
 * Returns the length of the vectors to ask a provider for; undefined for the model's own. Models that have
 * one length only reject the parameter.
 */
export function dimensionsToSend({ dimensions }: ChatRequest, { entry }: Target): number | undefined {
  if (typeof dimensions !== 'number' || dimensions === entry?.dimensions?.default) return undefined
  return dimensions
}

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
function joinEmbeddings(events: readonly ReplyEvent[]): ReplyEvent {
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

/** A part of a request that was sent. */
interface SentBatch {
  readonly reply: Reply
  readonly omitted: readonly string[]
  readonly changed: readonly ParameterChange[]
}

/**
 * Sends the parts of one request for embeddings. The first failure is that of the whole request, which may be
 * billed for the parts before.
 */
export async function sendInTurn(
  batches: readonly ChatRequest[],
  send: (batch: ChatRequest) => Promise<SentBatch>,
): Promise<SentBatch> {
  const sent: SentBatch[] = []
  for (const batch of batches)
    sent.push(
      await send(batch).catch((error: unknown) => {
        const isPaid = sent.length > 0 && GatewayError.isInstance(error)
        throw isPaid ? error.withExecuted(error.details.executed ?? 'yes') : error
      }),
    )
  const events = sent.flatMap(({ reply }) => (reply.type === 'whole' ? [reply.event] : []))
  const { omitted = [], changed = [] } = sent[0] ?? {}
  return { reply: { type: 'whole', event: joinEmbeddings(events) }, omitted, changed }
}
