import { type Exchange, GatewayError, isJsonObject, type JsonObject } from '../../contract/index.ts'
import { relatedId } from '../../ids.ts'
import { collectCompletion } from './collect.ts'
import { spliceCompletion } from './splice-completion.ts'

/** A chat completion with the extension fields. A vendor's own completion keeps every field it came with. */
export function writeCompletion(exchange: Exchange): JsonObject | string {
  if (exchange.reply?.type !== 'whole')
    throw new GatewayError('internal_error', 'There is no reply to write.')
  const { parts, native, source } = exchange.reply.event
  const id = relatedId('chatcmpl-', exchange.id)
  const extension = exchange.decoration?.last()
  const spliced = native && source && extension && spliceCompletion(source, native, id, extension)
  return spliced || decorate(native ?? collectCompletion(parts), id, extension)
}

/** A record under our id with the extension fields; `metadata` of both is kept, the gateway's winning. */
export function decorate(record: JsonObject, id: unknown, extension: JsonObject | undefined): JsonObject {
  if (!isJsonObject(record.metadata) || !isJsonObject(extension?.metadata))
    return { ...record, id, ...extension }
  return { ...record, id, ...extension, metadata: { ...record.metadata, ...extension.metadata } }
}
