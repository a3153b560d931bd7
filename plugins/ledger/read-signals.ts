import type { EndedExchange } from '../../core/contract/index.ts'
import { addToChecksum, EMPTY_CHECKSUM } from '../../core/util/text-checksum.ts'
import { CopyOf } from './slots.ts'
import type { AnswerSignal } from './store/record.ts'

/** Characters of the beginning, the middle and the end of a prompt that tell it from others. */
const SAMPLED_CHARS = 64

const NONE: readonly AnswerSignal[] = []
const CUT_OFF: readonly AnswerSignal[] = ['cut_off']

/** Returns what the reply says about itself. One that was cut off is not checked for its form. */
export function readSignals({ finishReason, answerIssues }: EndedExchange): readonly AnswerSignal[] {
  if (finishReason === 'length') return CUT_OFF
  return finishReason === undefined ? NONE : (answerIssues?.() ?? NONE)
}

/**
 * Returns the checksum by which the same prompt is recognized; undefined if the request does not end with
 * text of a user. Samples long texts: a collision costs a wrong signal, and this is on the hot path.
 */
export function readPromptChecksum(exchange: EndedExchange): number | undefined {
  const { operation = 'chat', request } = exchange
  if (operation !== 'chat' || CopyOf.of(exchange) !== undefined) return undefined
  const { messages, user } = request
  const last = messages.at(-1)
  if (last?.role !== 'user') return undefined
  const { content } = last
  const text = typeof content === 'string' ? content : content?.findLast(({ text }) => text)?.text
  if (text === undefined || text === '') return undefined
  let checksum = addSample(text)
  if (typeof user === 'string') checksum = addToChecksum(checksum, user, 0, SAMPLED_CHARS)
  // 53 bits: the checksum, and 21 bits that tell texts and conversations of different lengths apart.
  return checksum * 2 ** 21 + ((text.length * 31 + messages.length) % 2 ** 21)
}

function addSample(text: string): number {
  const { length } = text
  if (length <= 3 * SAMPLED_CHARS) return addToChecksum(EMPTY_CHECKSUM, text)
  const middle = length >> 1
  const first = addToChecksum(EMPTY_CHECKSUM, text, 0, SAMPLED_CHARS)
  const second = addToChecksum(first, text, middle, middle + SAMPLED_CHARS)
  return addToChecksum(second, text, length - SAMPLED_CHARS)
}
