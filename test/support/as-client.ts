import type OpenAI from 'openai'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import type { Reply } from '../../core/contract/chat.ts'
import type { RepliedExchange } from '../../core/contract/exchange.ts'
import { buildChatCompletion } from '../../plugins/dispatch/chat/completion.ts'
import { streamChatChunks } from '../../plugins/dispatch/chat/completion-stream.ts'
import { staying } from './presence.ts'

/**
 * What OpenAI's SDK makes of a reply once the chat dialect has written it; a stream is asked for its usage.
 */
export async function readAsClient(reply: Reply): Promise<OpenAI.ChatCompletion> {
  const request = { messages: [], stream_options: { include_usage: true } }
  // The dialect looks at these fields only.
  const exchange = {
    id: 'req_0',
    request,
    reply,
    client: staying,
  } as Partial<RepliedExchange> as RepliedExchange
  if (reply.type === 'whole') return JSON.parse(buildChatCompletion(exchange))
  let text = ''
  for await (const records of streamChatChunks(exchange)) text += records
  const lines = text.split('\n\n').map((record) => record.replace(/^data: /, ''))
  const chunks = lines.filter((line) => line.startsWith('{')).join('\n')
  return ChatCompletionStream.fromReadableStream(new Blob([chunks]).stream()).finalChatCompletion()
}
