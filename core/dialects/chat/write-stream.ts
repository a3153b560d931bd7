import { type Exchange, GatewayError, type JsonObject } from '../../contract/index.ts'
import { relatedId } from '../../ids.ts'
import { noteReply } from '../note-parts.ts'
import { toStreamError } from '../stream-fault.ts'
import { createChunkWriter } from './chunks.ts'
import { chatErrorBody } from './error-body.ts'
import { decorate } from './write-whole.ts'

/**
 * Chat-completion chunks as SSE. The first record carries the extension fields that are known, the last carries all: so
 * from the finish on one record is held back until it is certain whether another follows.
 */
export async function* writeChunks(exchange: Exchange): AsyncGenerator<string> {
  if (exchange.reply?.type !== 'stream')
    throw new GatewayError('internal_error', 'There is no stream to write.')
  const wantsUsage = exchange.request.stream_options?.include_usage === true
  const frame = { id: relatedId('chatcmpl-', exchange.id), created: Math.floor(Date.now() / 1000) }
  const { chunksOf, textsOf, usageChunk } = createChunkWriter(frame, wantsUsage)
  let first = true
  let finished = false
  let held: JsonObject | undefined

  try {
    for await (const batch of exchange.reply.batches) {
      let text = ''
      for (const event of batch) {
        finished = noteReply(exchange, event) || finished
        if (!first && !finished) {
          for (const chunk of textsOf(event)) text += `data: ${chunk}\n\n`
          continue
        }
        for (const chunk of chunksOf(event)) {
          if (held !== undefined) text += record(held)
          held = first ? decorate(chunk, chunk.id, exchange.decoration?.first) : chunk
          first = false
          if (!finished) {
            text += record(held)
            held = undefined
          }
        }
      }
      if (text !== '') yield text
    }
    const usage = usageChunk()
    const before = held && usage ? record(held) : ''
    const last = usage ?? held
    yield `${before}${last ? record(decorate(last, last.id, exchange.decoration?.last())) : ''}data: [DONE]\n\n`
  } catch (error) {
    if (exchange.client.isAborted) return
    const last = held ? record(held) : ''
    exchange.error = toStreamError(error)
    yield `${last}${record(chatErrorBody(exchange.error))}`
  }
}

function record(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`
}
