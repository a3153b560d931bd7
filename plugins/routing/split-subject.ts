import type { ChatRequest, RoutingInput } from '../../core/contract/index.ts'

/** What gets the same model again, in the order in which it is looked for. `none`: nothing. */
export const STICKINESS = ['user', 'conversation', 'key', 'none'] as const

export type Stickiness = (typeof STICKINESS)[number]

/**
 * Returns what a split is drawn for (docs/guides/rules.md, "Splits"): by default the end user that the
 * request
 * names, else its conversation, else its API key. With `stickyBy`, that comes first.
 */
export function splitSubject(
  { account, request, requestId }: Pick<RoutingInput, 'account' | 'request' | 'requestId'>,
  stickyBy?: Stickiness,
): string {
  if (stickyBy === 'none') return JSON.stringify(['request', requestId])
  const byUser = () =>
    typeof request.user === 'string' && request.user !== ''
      ? JSON.stringify(['user', account.userId, request.user])
      : undefined
  const byConversation = () => {
    const start = firstUserText(request)
    return start === '' ? undefined : JSON.stringify(['conversation', account.keyId || account.userId, start])
  }
  const byKey = JSON.stringify(['key', account.keyId || account.userId])
  if (stickyBy === 'key') return byKey
  if (stickyBy === 'conversation') return byConversation() ?? byUser() ?? byKey
  return byUser() ?? byConversation() ?? byKey
}

/** All requests of a conversation contain its first message: clients send it, or the gateway adds it. */
function firstUserText({ messages }: ChatRequest): string {
  const content = messages.find(({ role }) => role === 'user')?.content
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text = '' }) => text).join('\n')
}
