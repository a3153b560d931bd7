import type { ContentPart } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { type DataUrl, parseDataUrl } from '../read-data-url.ts'
import { readObject, readString } from '../read-fields.ts'
import type { DocumentBlock } from './wire.ts'

/** A `file` part with a PDF or a text in a data URL. Throws a `GatewayError` for any other file. */
export function writeDocument(part: ContentPart, path: string): DocumentBlock {
  const { file_data, filename } = readObject(part.file)
  const param = `${path}.file.file_data`
  const file = parseDataUrl(readString(file_data))
  if (!file) {
    throw new GatewayError('unsupported_parameter', `${param} must hold the file as a data URL.`, { param })
  }
  return {
    type: 'document',
    title: readString(filename) || undefined,
    source: writeSource(file, param),
  }
}

function writeSource({ mediaType, base64 }: DataUrl, param: string): DocumentBlock['source'] {
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data: base64 }
  if (mediaType.startsWith('text/')) {
    const data = Buffer.from(base64, 'base64').toString()
    return { type: 'text', media_type: 'text/plain', data }
  }
  throw new GatewayError('invalid_value', `${param}: anthropic reads PDF and text files only.`, { param })
}
