import { type Exchange, type FinishReason, GatewayError, type JsonObject } from '../../contract/index.ts'
import type { ChunkLengths } from '../../events/domain-events.ts'
import { recordUsage, toStreamError } from '../reply-events.ts'
import type { ResponsesCall } from './call.ts'
import { createResponseOutput } from './output.ts'
import {
  buildFinalFields,
  buildInitialResponse,
  toCancelledResponse,
  toFailedResponse,
  toLastItemStatus,
  toResponseForm,
} from './response.ts'
import { createSseRecords } from './sse-records.ts'

/** The whole response, once it is durable, in the form that the caller reads. */
export async function completeResponse(
  exchange: Exchange,
  call: ResponsesCall,
  keep: PersistResponse,
): Promise<JsonObject> {
  if (exchange.reply?.type !== 'whole')
    throw new GatewayError('internal_error', 'There is no reply to write.')
  const output = createResponseOutput(call.responseKey)
  let finish: FinishReason = 'stop'
  for (const part of exchange.reply.event.parts) {
    if (part.type === 'finish') finish = part.reason
    output.add(part)
  }
  output.close(toLastItemStatus(finish))
  const end = buildFinalFields(finish, exchange, output.items())
  const response: JsonObject = Object.assign(buildInitialResponse(call, exchange), end)
  return toResponseForm(await keep(response), call.form)
}

/**
 * The events of a response as SSE (docs/api.md, "Response streams"). The last one is sent when the response is durable; it is
 * `response.failed` when the provider fails half-way.
 */
export async function* streamResponseEvents(
  exchange: Exchange,
  call: ResponsesCall,
  keep: PersistResponse,
): AsyncGenerator<string> {
  if (exchange.reply?.type !== 'stream')
    throw new GatewayError('internal_error', 'There is no stream to write.')
  const opened = buildInitialResponse(call, exchange)
  const records = createSseRecords(call.responseKey)
  const { output } = records
  let finish: FinishReason = 'stop'
  let ended = false

  try {
    let text = records.open(opened)
    for await (const batch of exchange.reply.batches) {
      for (const event of batch) {
        recordUsage(exchange, event)
        for (const part of event.parts) {
          if (part.type === 'finish') finish = part.reason
          text += records.add(part)
        }
      }
      if (text !== '') yield text
      text = ''
    }
    text += records.close(toLastItemStatus(finish))
    const response = await keep(
      { ...opened, ...buildFinalFields(finish, exchange, output.items()) },
      output.chunkLengths(),
    )
    ended = true
    yield text + records.end(response)
  } catch (error) {
    if (exchange.client.isAborted) return
    exchange.error = toStreamError(error)
    const response = await keep(toFailedResponse(opened, exchange.error, output.items()))
    ended = true
    yield records.end(response)
  } finally {
    if (!ended) await keep(toCancelledResponse(opened, output.items()))
  }
}

/**
 * Makes a response that has ended durable, where its caller wants it kept, and gives it as it is to be answered. Never rejects:
 * an answer that cannot be kept says so.
 */
export type PersistResponse = (response: JsonObject, pace?: ChunkLengths) => Promise<JsonObject>
