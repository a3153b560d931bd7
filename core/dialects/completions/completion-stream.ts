import { GatewayError, type JsonObject, type RepliedExchange } from '../../contract/index.ts'
import { splitRuns } from '../../contract/native-records.ts'
import { formatError } from '../../http/errors.ts'
import { toCompletionUsage } from '../chat/completion.ts'
import { recordReplyError } from '../stream-error.ts'
import { addToCompletedText, createCompletionFrame, startCompletedText, toTextChoice } from './completion.ts'

/**
 * Streams a completion as SSE, in OpenAI's legacy format. As in chat streams, the first record carries the
 * extension fields that are known, and the last record all of them; a failure is an error record in place of
 * `[DONE]`.
 */
export async function* streamTextCompletion(exchange: RepliedExchange): AsyncGenerator<string> {
  const { reply, decoration, request, target } = exchange
  if (reply.type !== 'stream') throw new GatewayError('internal_error', 'The exchange has no streamed reply.')
  const wantsUsage = request.stream_options?.include_usage === true
  const frame = createCompletionFrame(exchange)
  const completed = startCompletedText()
  const build = (choices: readonly JsonObject[], fields: JsonObject = {}) => {
    const model = completed.model || (target?.model ?? '')
    return { ...frame, model, choices, ...(wantsUsage && { usage: null }), ...fields }
  }
  let isFirst = true
  try {
    for await (const batch of reply.batches) {
      let records = ''
      for (const { parts } of splitRuns(batch)) {
        addToCompletedText(completed, parts, exchange)
        if (completed.text === '') continue
        const choice = toTextChoice(completed.text, null)
        records += toSseRecord(build([choice], isFirst ? decoration?.first() : {}))
        completed.text = ''
        isFirst = false
      }
      if (records !== '') yield records
    }
    const finish = [toTextChoice('', completed.finishReason)]
    const usage = completed.usage && { usage: toCompletionUsage(completed.usage) }
    const records = wantsUsage
      ? toSseRecord(build(finish)) + toSseRecord(build([], { ...usage, ...decoration?.last() }))
      : toSseRecord(build(finish, decoration?.last()))
    yield `${records}data: [DONE]\n\n`
  } catch (error) {
    if (exchange.client.isAborted) return
    yield toSseRecord(formatError(recordReplyError(exchange, error), 'openai'))
  }
}

function toSseRecord(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
