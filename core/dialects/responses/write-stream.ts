import { type Exchange, type FinishReason, GatewayError } from '../../contract/index.ts'
import { noteReply } from '../note-parts.ts'
import { toStreamError } from '../stream-fault.ts'
import type { ResponsesCall } from './call.ts'
import type { PersistResponse } from './keep.ts'
import { createRecords } from './records.ts'
import { cancelResponse, endOfResponse, failResponse, openResponse, statusOfLastItem } from './response.ts'

/**
 * The events of a response as SSE (reference 10.4). The last one is sent when the response is durable; it is
 * `response.failed` when the vendor fails half-way.
 */
export async function* writeEvents(
  exchange: Exchange,
  call: ResponsesCall,
  keep: PersistResponse,
): AsyncGenerator<string> {
  if (exchange.reply?.type !== 'stream')
    throw new GatewayError('internal_error', 'There is no stream to write.')
  const opened = openResponse(call, exchange)
  const records = createRecords(call.seed)
  const { output } = records
  let finish: FinishReason = 'stop'
  let ended = false

  try {
    let text = records.open(opened)
    for await (const batch of exchange.reply.batches) {
      for (const event of batch) {
        noteReply(exchange, event)
        for (const part of event.parts) {
          if (part.type === 'finish') finish = part.reason
          text += records.add(part)
        }
      }
      if (text !== '') yield text
      text = ''
    }
    text += records.close(statusOfLastItem(finish))
    const response = await keep(
      { ...opened, ...endOfResponse(finish, exchange, output.items()) },
      output.pace(),
    )
    ended = true
    yield text + records.end(response)
  } catch (error) {
    if (exchange.client.isAborted) return
    exchange.error = toStreamError(error)
    const response = await keep(failResponse(opened, exchange.error, output.items()))
    ended = true
    yield records.end(response)
  } finally {
    if (!ended) await keep(cancelResponse(opened, output.items()))
  }
}
