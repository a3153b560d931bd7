import type { ContentPart } from '../../core/contract/chat.ts'
import { imageTypeOf, parseDataUrl } from '../../core/inspection/data-url.ts'
import { asObject, asString } from '../shared/fields.ts'
import { type FileSource, parseFilePart, unsupportedFileError } from '../shared/files.ts'
import { invalidValueError } from '../shared/request-errors.ts'
import type { DocumentBlock, ImageBlock, ImageMediaType } from './wire.ts'

/**
 * `detail` has no counterpart. The data decides about the media type: Anthropic refuses an image of another
 * one. Throws a `GatewayError` for images that Anthropic does not support.
 */
export function toImageBlock(part: ContentPart, path: string): ImageBlock {
  const param = `${path}.image_url.url`
  const url = asString(part.image_url) || asString(asObject(part.image_url).url)
  if (/^https?:/i.test(url)) return { type: 'image', source: { type: 'url', url } }
  const image = parseDataUrl(url)
  if (!image) throw invalidValueError(param, 'must be an http, https or data URL.')
  const media_type = MEDIA_TYPES.get(imageTypeOf(image.base64) ?? image.mediaType)
  if (media_type) return { type: 'image', source: { type: 'base64', media_type, data: image.base64 } }
  throw invalidValueError(param, 'must be a JPEG, PNG, GIF or WebP image for anthropic.')
}

const MEDIA_TYPES = new Map<string, ImageMediaType>([
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/png', 'image/png'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
])

/** Throws a `GatewayError` unless the part holds a PDF or a text, or the URL of a PDF. */
export function toDocumentBlock(part: ContentPart, path: string): DocumentBlock {
  const file = parseFilePart(part, path)
  return { type: 'document', title: file.name || undefined, source: toDocumentSource(file, path) }
}

function toDocumentSource(file: FileSource, path: string): DocumentBlock['source'] {
  if (file.type === 'url') return { type: 'url', url: file.url }
  if (file.type === 'id') throw unsupportedFileError('anthropic', path, file)
  const { mediaType, base64 } = file
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data: base64 }
  if (mediaType.startsWith('text/')) {
    const data = Buffer.from(base64, 'base64').toString()
    return { type: 'text', media_type: 'text/plain', data }
  }
  throw invalidValueError(`${path}.file.file_data`, 'must be a PDF or text file for anthropic.')
}
