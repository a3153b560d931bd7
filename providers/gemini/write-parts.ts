import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { readObject, readString } from '../read-fields.ts'
import type { Part, TextPart } from './wire.ts'
import { writeAudio, writeFile, writeImage } from './write-media.ts'

type MessageContent = Message['content']

/**
 * The parts of what somebody says; empty texts are left out. `path` is where it stands in the request, such as
 * `messages[2].content`, for the error about a part that Gemini cannot take.
 */
export function writeParts(content: MessageContent, path: string): readonly Part[] {
  if (typeof content === 'string') return writeText(content)
  return (content ?? []).flatMap((part, index) => writePart(part, `${path}[${index}]`))
}

/** The same where Gemini takes text only. */
export function writeTexts(content: MessageContent, path: string): readonly TextPart[] {
  return writeParts(content, path).map((part) => {
    if ('text' in part) return part
    throw new GatewayError('unsupported_parameter', `${path}: gemini takes text only here.`, { param: path })
  })
}

function writePart(part: ContentPart, path: string): readonly Part[] {
  switch (part.type) {
    case 'text':
      return writeText(readString(part.text))
    case 'refusal':
      return writeText(readString(part.refusal))
    case 'image_url':
      return [writeImage(part.image_url, path)]
    case 'input_audio':
      return [writeAudio(readObject(part.input_audio), path)]
    case 'file':
      return [writeFile(readObject(part.file), path)]
    default:
      throw new GatewayError('unsupported_parameter', `${path}: gemini takes no ${part.type} part.`, {
        param: path,
      })
  }
}

function writeText(text: string): readonly TextPart[] {
  return text === '' ? [] : [{ text }]
}
