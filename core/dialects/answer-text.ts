import type { ReplyPart } from '../contract/index.ts'

/** True for the text of an answer, which most parts of a stream are; false for reasoning and refusals. */
export function isAnswerText(part: ReplyPart): part is Extract<ReplyPart, { readonly type: 'text' }> {
  return part.type === 'text'
}
