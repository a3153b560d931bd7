import type { JsonObject } from '../../core/contract/json.ts'
import { findReceived } from '../../core/util/received-json.ts'
import { replaceLoneSurrogates } from './json-string.ts'

/**
 * Writes the body of a request to a provider as JSON. A list or object that nobody has replaced since it was
 * received, such as the messages of a long conversation, is copied: writing it takes longer than the rest of
 * the request.
 */
export function writeBody(body: JsonObject): string | Buffer {
  const fields = findReceived(body)
  if (fields === undefined) return JSON.stringify(body)
  const pieces: Buffer[] = []
  let text = ''
  let separator = '{'
  for (const name in body) {
    const value = body[name]
    const bytes = typeof value === 'object' && value !== null ? fields.get(value) : undefined
    const json = bytes === undefined ? JSON.stringify(value) : ''
    if (json === undefined) continue
    text += `${separator}${JSON.stringify(name)}:${json}`
    separator = ','
    if (bytes === undefined) continue
    pieces.push(Buffer.from(replaceLoneSurrogates(text)), bytes)
    text = ''
  }
  return Buffer.concat([...pieces, Buffer.from(`${replaceLoneSurrogates(text)}}`)])
}
