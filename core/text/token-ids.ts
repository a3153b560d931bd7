import { type ChatRequest, TokenIds } from '../contract/index.ts'

/** Whether a request has token ids in place of texts, which no rule can inspect. */
export function hasTokenIds({ messages }: ChatRequest): boolean {
  return messages.some(
    ({ content }) => Array.isArray(content) && content.some(({ token_ids }) => token_ids instanceof TokenIds),
  )
}
