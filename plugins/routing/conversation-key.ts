import { createHash } from 'node:crypto'
import type { Exchange, Message } from '../../core/contract/index.ts'
import { PreviousResponse } from '../../core/dialects/previous-response.ts'
import { sessionOf } from '../../core/http/session-header.ts'
import { requestIdSuffix } from '../../core/util/ids.ts'

/** The keys under which a conversation is remembered. They hold no text of the request. */
export interface ConversationKeys {
  /** Where it is looked for. */
  readonly key: string
  /** Where its next turn will look for it. */
  readonly next: readonly string[]
}

type Source = Pick<Exchange, 'account' | 'endpoint' | 'headers' | 'id' | 'request' | 'state'>

/**
 * Returns the keys of the conversation that a request belongs to (docs/guides/prompt-caches.md, "What a
 * conversation is"); undefined if nothing tells it from others. Users never share a conversation.
 */
export function conversationKeys(exchange: Source): ConversationKeys | undefined {
  const { account, endpoint, headers, id, request } = exchange
  const toKey = (...parts: readonly string[]) => {
    const digest = createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
    return `${account.userId}:${digest}`
  }
  const cacheKey = request.prompt_cache_key
  const named = typeof cacheKey === 'string' ? cacheKey : ''
  const session = named || sessionOf(headers)
  if (session) {
    const key = toKey(named ? 'prompt_cache_key' : 'session', session)
    return { key, next: [key] }
  }
  const ofResponse = endpoint === '/v1/responses' ? [toKey('response', requestIdSuffix(id))] : []
  const previous = PreviousResponse.of(exchange)
  if (previous !== undefined)
    // `resp_` and `req_` name the same response.
    return { key: toKey('response', previous.slice(previous.indexOf('_') + 1)), next: ofResponse }
  const start = startOf(request.messages)
  if (start === undefined) return undefined
  const key = toKey('start', ...start)
  return { key, next: [key, ...ofResponse] }
}

/** The texts before and in the first message of the user, which all turns share. */
function startOf(messages: readonly Message[]): readonly string[] | undefined {
  const end = messages.findIndex(({ role }) => role === 'user')
  const texts = messages.slice(0, end + 1).map(textOf)
  return texts.some((text) => text !== '') ? texts : undefined
}

function textOf({ content }: Message): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n')
}
