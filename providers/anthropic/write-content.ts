import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { readString } from '../read-fields.ts'
import { readCacheControl } from './cache-control.ts'
import type { DocumentBlock, ImageBlock, TextBlock } from './wire.ts'
import { writeDocument } from './write-document.ts'
import { writeImage } from './write-image.ts'

type Content = Message['content']

/**
 * What a user or a tool says. `path` is where it stands in the request, such as `messages[2].content`, for the error
 * about a part that Anthropic cannot take. Blank texts are left out: it refuses them.
 */
export function writeContent(content: Content, path: string): (TextBlock | ImageBlock | DocumentBlock)[] {
  return readParts(content).flatMap((part, index) => writePart(part, `${path}[${index}]`))
}

/** What the system or the assistant says: text only. */
export function writeText(content: Content, path: string): TextBlock[] {
  return readParts(content).flatMap((part, index) => {
    if (part.type === 'text' || part.type === 'refusal') return writeTextPart(part)
    throw refusePart(part, `${path}[${index}]`)
  })
}

function readParts(content: Content): readonly ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
}

function writePart(part: ContentPart, path: string): readonly (TextBlock | ImageBlock | DocumentBlock)[] {
  const cache_control = readCacheControl(part.cache_control)
  switch (part.type) {
    case 'text':
      return writeTextPart(part)
    case 'image_url':
      return [{ ...writeImage(part, path), cache_control }]
    case 'file':
      return [{ ...writeDocument(part, path), cache_control }]
    default:
      throw refusePart(part, path)
  }
}

function writeTextPart(part: ContentPart): readonly TextBlock[] {
  const text = part.type === 'refusal' ? readString(part.refusal) : readString(part.text)
  if (text.trim() === '') return []
  return [{ type: 'text', text, cache_control: readCacheControl(part.cache_control) }]
}

function refusePart({ type }: ContentPart, path: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${path}: anthropic takes no ${type} part here.`, {
    param: path,
  })
}
