import { type ErrorCode, GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { parseDataUrl } from '../read-data-url.ts'
import { readObject, readString } from '../read-fields.ts'
import type { MediaPart } from './wire.ts'

/** `image` is `{url}`, or the URL itself, as some clients have it. */
export function writeImage(image: unknown, path: string): MediaPart {
  return writeUrl(readString(readObject(image).url ?? image), `${path}.image_url`)
}

/** `{data, format}`, with the data as base64. */
export function writeAudio(audio: JsonObject, path: string): MediaPart {
  const data = readString(audio.data)
  const format = readString(audio.format)
  if (data === '' || format === '')
    throw refuse('invalid_value', `${path}.input_audio`, 'needs data and format.')
  return writeInline(`audio/${format}`, data)
}

/** `{file_data}`, a URL or the base64 of a PDF. A `file_id` is one of OpenAI's, and means nothing here. */
export function writeFile(file: JsonObject, path: string): MediaPart {
  const data = readString(file.file_data)
  if (data === '') throw refuse('unsupported_parameter', `${path}.file`, 'needs file_data for gemini.')
  return data.includes(':') ? writeUrl(data, `${path}.file`) : writeInline('application/pdf', data)
}

function writeUrl(url: string, path: string): MediaPart {
  const data = parseDataUrl(url)
  if (data?.mediaType) return writeInline(data.mediaType, data.base64)
  if (!/^https?:\/\//i.test(url)) {
    throw refuse('invalid_value', path, 'must be a https: URL, or a data: URL with a media type.')
  }
  const mimeType = guessType(url)
  return { fileData: { fileUri: url, ...(mimeType && { mimeType }) } }
}

function writeInline(mimeType: string, data: string): MediaPart {
  return { inlineData: { mimeType, data } }
}

const TYPES = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
  ['pdf', 'application/pdf'],
])

/** From the end of the URL's path; undefined where that tells nothing. */
function guessType(url: string): string | undefined {
  const [path = ''] = url.split(/[?#]/, 1)
  return TYPES.get(path.slice(path.lastIndexOf('.') + 1).toLowerCase())
}

function refuse(code: ErrorCode, param: string, reason: string): GatewayError {
  return new GatewayError(code, `${param} ${reason}`, { param })
}
