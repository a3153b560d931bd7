import type {
  EndedExchange,
  FinishReason,
  GatewayError,
  JsonObject,
  RepliedExchange,
} from '../../core/contract/index.ts'
import { streamedReply, warnOfLostPart, wholeReply } from '../../core/dialects/reply-parts.ts'
import { buildSignalboxFields } from '../../core/dialects/signalbox-fields.ts'
import { recordReplyError } from '../../core/pipeline/read-reply.ts'
import { type ChunkLengths, createResponseOutput } from '../../providers/shared/responses-format/output.ts'
import { asksForEncryptedReasoning } from '../../providers/shared/responses-format/parse-request.ts'
import type { ResponsesCall } from './call.ts'
import {
  buildFinalFields,
  buildInitialResponse,
  buildRefusedResponse,
  toCancelledResponse,
  toFailedResponse,
  toLastItemStatus,
  toResponseForm,
} from './response.ts'
import { createSseRecords } from './sse-records.ts'

/**
 * Persists an ended response if its caller wants it stored, and returns the response to send. `chunkLengths`
 * is set if the response was streamed. Never rejects: a response that could not be stored carries a warning.
 */
export type PersistResponse = (response: JsonObject, chunkLengths?: ChunkLengths) => Promise<JsonObject>

/**
 * Builds and persists the response of a whole reply. Resolves with it in the form that the caller expects.
 */
export async function completeResponse(
  exchange: RepliedExchange,
  call: ResponsesCall,
  persist: PersistResponse,
): Promise<JsonObject> {
  const output = createResponseOutput(call.responseKey, {
    tools: call.clientTools,
    target: exchange.target,
  })
  let finishReason: FinishReason = 'stop'
  for (const part of wholeReply(exchange).parts) {
    if (part.type === 'finish') finishReason = part.reason
    warnOfLostPart(exchange, part)
    output.add(part)
  }
  if (needsOutput(call)) output.close(toLastItemStatus(finishReason))
  const finalFields = buildFinalFields(finishReason, exchange, output.items())
  const response: JsonObject = Object.assign(buildInitialResponse(call, exchange), finalFields)
  return toResponseForm(await persist(response), call.form, asksForEncryptedReasoning(call.body))
}

/** Replies of models have at least one item, if it is empty. */
function needsOutput({ body }: ResponsesCall): boolean {
  return body.generate !== false
}

/**
 * Returns the events of a response that has failed before it has started. OpenAI says in a stream, and not by
 * a status, that the input exceeds the context, and Codex compacts the conversation only then: see
 * docs/guides/errors.md.
 */
export function writeFailedResponse(
  error: GatewayError,
  exchange: EndedExchange,
  call: ResponsesCall,
): string | undefined {
  if (error.code !== 'context_length_exceeded') return undefined
  const initial = buildRefusedResponse(call, exchange)
  const records = createSseRecords(call.responseKey)
  return records.open(initial) + records.end(toFailedResponse({ ...initial, store: false }, error))
}

/**
 * Streams the events of a response as SSE (docs/api.md, "Response streams"). The last event is sent once the
 * response is persisted. It is `response.failed` if the provider fails during the stream. If the client
 * disconnects, the response is persisted as cancelled.
 */
export async function* streamResponseEvents(
  exchange: RepliedExchange,
  call: ResponsesCall,
  persist: PersistResponse,
): AsyncGenerator<string> {
  const batches = streamedReply(exchange)
  const initial = buildInitialResponse(call, exchange)
  const records = createSseRecords(call.responseKey, {
    tools: call.clientTools,
    target: exchange.target,
  })
  const { output } = records
  let finishReason: FinishReason = 'stop'
  let isPersisted = false
  /** The initial response with what is known of the reply at its end, such as its cost. */
  const withEndFields = () => ({ ...initial, signalbox: buildSignalboxFields(exchange) })

  try {
    let text = records.open(initial)
    for await (const batch of batches) {
      for (const event of batch) {
        for (const part of event.parts) {
          if (part.type === 'finish') finishReason = part.reason
          else if (part.type === 'unread' || part.type === 'extra') warnOfLostPart(exchange, part)
          text += records.add(part)
        }
      }
      if (text !== '') yield text
      text = ''
    }
    if (needsOutput(call)) text += records.close(toLastItemStatus(finishReason))
    const final = { ...initial, ...buildFinalFields(finishReason, exchange, output.items()) }
    const response = await persist(final, output.chunkLengths())
    isPersisted = true
    yield text + records.end(response)
  } catch (error) {
    if (exchange.client.isAborted) return
    const failed = toFailedResponse(withEndFields(), recordReplyError(exchange, error), output.items())
    const response = await persist(failed)
    isPersisted = true
    yield records.end(response)
  } finally {
    if (!isPersisted) await persist(toCancelledResponse(withEndFields(), output.items()))
  }
}
