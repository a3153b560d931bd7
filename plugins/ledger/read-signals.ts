import type { ChatRequest, EndedExchange } from '../../core/contract/index.ts'
import { addToChecksum, EMPTY_CHECKSUM } from '../../core/text/text-checksum.ts'
import type { LedgerRecord } from './store/record.ts'

/** Characters at each end of a prompt that tell it from others, beside its length. */
const SAMPLED_CHARS = 256

/**
 * Returns what the reply says about itself, and the checksum by which the same prompt is recognized. A reply
 * that was cut off is not checked for its form.
 */
export function readSignals(exchange: EndedExchange): Pick<LedgerRecord, 'signals' | 'promptChecksum'> {
  const { finishReason, operation = 'chat', request, shadowOf } = exchange
  const isCutOff = finishReason === 'length'
  const issues = finishReason === undefined || isCutOff ? [] : (exchange.answerIssues?.() ?? [])
  const promptChecksum =
    operation === 'chat' && shadowOf === undefined ? toPromptChecksum(request) : undefined
  return {
    ...(isCutOff ? { signals: ['cut_off'] } : issues.length > 0 && { signals: issues }),
    ...(promptChecksum !== undefined && { promptChecksum }),
  }
}

/**
 * Undefined if the request does not end with text of a user. Samples long texts: a collision costs a wrong
 * signal, and this is on the hot path.
 */
function toPromptChecksum({ messages, user }: ChatRequest): number | undefined {
  const last = messages.at(-1)
  if (last?.role !== 'user') return undefined
  const { content } = last
  const text = typeof content === 'string' ? content : content?.findLast(({ text }) => text)?.text
  if (text === undefined || text === '') return undefined
  let checksum = addToChecksum(EMPTY_CHECKSUM, text.slice(0, SAMPLED_CHARS))
  if (text.length > SAMPLED_CHARS) checksum = addToChecksum(checksum, text.slice(-SAMPLED_CHARS))
  if (typeof user === 'string') checksum = addToChecksum(checksum, user.slice(0, SAMPLED_CHARS))
  // 53 bits: the checksum, and 21 bits that tell texts and conversations of different lengths apart.
  return checksum * 2 ** 21 + ((text.length * 31 + messages.length) % 2 ** 21)
}
