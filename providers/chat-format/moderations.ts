import type { ChatRequest, ReplyEvent } from '../../core/contract/chat.ts'
import type { OperationFormat } from '../../core/contract/provider.ts'
import { unusableReplyError } from '../shared/errors.ts'
import { asObject, asObjects, asString } from '../shared/fields.ts'
import { buildReply } from '../shared/operation-reply.ts'
import { isChatErrorRecord, parseChatErrorRecord } from './errors.ts'
import { toChatUsage } from './reply.ts'
import { buildChatHeaders } from './wire.ts'

/** OpenAI's moderations: https://platform.openai.com/docs/api-reference/moderations. */
export const openAiModerations: OperationFormat = {
  buildRequest(request, target) {
    const { messages, metadata: _, ...fields } = request
    const contents = messages.filter(({ role }) => role === 'user').map(({ content }) => content ?? '')
    const [only] = contents
    const input = contents.length === 1 && Array.isArray(only) ? only : contents
    const body = JSON.stringify({ ...fields, model: target.model, input })
    return { path: '/moderations', headers: buildChatHeaders(false), body, omitted: [] }
  },
  parseReply: parseModerationReply,
}

/** Parses the reply of OpenAI and Mistral. Throws a `GatewayError` for any other value. */
export function parseModerationReply(body: unknown, request: ChatRequest): ReplyEvent {
  const native = asObject(body)
  if (isChatErrorRecord(native)) throw parseChatErrorRecord(native)
  const results = asObjects(native.results)
  if (results.length !== request.messages.filter(({ role }) => role === 'user').length)
    throw unusableReplyError('The provider did not judge each text.')
  const parts = results.map((result) => ({ type: 'moderation', result }) as const)
  const { id, model, usage } = native
  return buildReply(parts, request, { id: asString(id), model: asString(model), usage: toChatUsage(usage) })
}
