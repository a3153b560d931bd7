import { type Exchange, GatewayError, isJsonObject, type JsonObject } from '../../contract/index.ts'
import { newId } from '../../ids.ts'
import { collectCompletion } from './collect.ts'

/** A chat completion with the extension fields. A vendor's own completion keeps every field it came with. */
export function writeCompletion(exchange: Exchange): JsonObject {
  if (exchange.reply?.type !== 'whole')
    throw new GatewayError('internal_error', 'There is no reply to write.')
  const { parts, native } = exchange.reply.event
  const completion = native ?? collectCompletion(parts)
  return decorate({ ...completion, id: newId('chatcmpl-') }, exchange.decoration?.last())
}

/** Adds extension fields to a record; `metadata` of both is kept, the gateway's winning. */
export function decorate(record: JsonObject, extension: JsonObject | undefined): JsonObject {
  if (extension === undefined) return record
  const { metadata } = extension
  if (!isJsonObject(record.metadata) || !isJsonObject(metadata)) return { ...record, ...extension }
  return { ...record, ...extension, metadata: { ...record.metadata, ...metadata } }
}
