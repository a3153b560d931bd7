import type { ReplyPart } from '../../core/contract/chat.ts'

/** Names of types; a longer text may be something else. */
const NAME = /^[\w.-]{1,40}(?: \([\w.+/-]{1,40}\))?$/

/** The part for content that the gateway does not read. `name` is its type in the provider's format. */
export function toUnreadPart(name: unknown): ReplyPart {
  return { type: 'unread', name: typeof name === 'string' && NAME.test(name) ? name : 'unknown content' }
}
