import {
  type FinishReason,
  GatewayError,
  type JsonObject,
  type RepliedExchange,
  type ReplyPart,
  type Usage,
} from '../../contract/index.ts'
import { relatedId } from '../../util/ids.ts'
import { toCompletionUsage } from '../chat/completion.ts'
import { toImageText, warnOfLostPart } from '../lost-parts.ts'

/** What a completion shows of a reply. */
export interface CompletedText {
  /** Text and refusals; the format has no place for reasoning. */
  text: string
  model: string
  usage: Usage | undefined
  finishReason: FinishReason
}

export function addToCompletedText(
  completed: CompletedText,
  parts: readonly ReplyPart[],
  exchange: RepliedExchange,
): void {
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') completed.text += part.text
    else if (part.type === 'image') completed.text += toImageText(exchange, part)
    else if (part.type === 'start') completed.model = part.model
    else if (part.type === 'usage') completed.usage = part.usage
    else if (part.type === 'finish') completed.finishReason = part.reason
    else warnOfLostPart(exchange, part)
  }
}

export function startCompletedText(): CompletedText {
  return { text: '', model: '', usage: undefined, finishReason: 'stop' }
}

/** Builds a completion in OpenAI's legacy format, with the gateway's extension fields. */
export function buildTextCompletion(exchange: RepliedExchange): JsonObject {
  const { reply, decoration } = exchange
  if (reply.type !== 'whole') throw new GatewayError('internal_error', 'The exchange has no whole reply.')
  const completed = startCompletedText()
  addToCompletedText(completed, reply.event.parts, exchange)
  const { text, model, usage, finishReason } = completed
  return {
    ...createCompletionFrame(exchange),
    model: model || (exchange.target?.model ?? ''),
    choices: [toTextChoice(text, finishReason)],
    ...(usage && { usage: toCompletionUsage(usage) }),
    ...decoration?.last(),
  }
}

/** The fields that all records of a completion share. */
export function createCompletionFrame({ id }: RepliedExchange): JsonObject {
  const created = Math.floor(Date.now() / 1000)
  return { id: relatedId('cmpl-', id), object: 'text_completion', created }
}

/** The format has no tool calls, so they end a text like anything else. */
export function toTextChoice(text: string, finishReason: FinishReason | null): JsonObject {
  const finish_reason = finishReason === 'tool_calls' ? 'stop' : finishReason
  return { text, index: 0, logprobs: null, finish_reason }
}
