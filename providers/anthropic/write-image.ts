import type { ContentPart } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { parseDataUrl } from '../read-data-url.ts'
import { readObject, readString } from '../read-fields.ts'
import type { ImageBlock, ImageType } from './wire.ts'

/** An `image_url` part; `detail` has no counterpart. Throws a `GatewayError` for an image that Anthropic cannot read. */
export function writeImage(part: ContentPart, path: string): ImageBlock {
  const param = `${path}.image_url.url`
  const url = readString(part.image_url) || readString(readObject(part.image_url).url)
  if (/^https?:/i.test(url)) return { type: 'image', source: { type: 'url', url } }
  const image = parseDataUrl(url)
  if (!image) throw refuse(`${param} must be an http, https or data URL.`, param)
  const media_type = TYPES.get(image.mediaType)
  if (!media_type) throw refuse(`${param}: anthropic reads JPEG, PNG, GIF and WebP images only.`, param)
  return { type: 'image', source: { type: 'base64', media_type, data: image.base64 } }
}

const TYPES = new Map<string, ImageType>([
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/png', 'image/png'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
])

function refuse(message: string, param: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}
