import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { joinText } from '../chat-format/join-text.ts'
import { refuseMessage } from '../chat-format/refuse-message.ts'
import { readObject, readString } from '../read-fields.ts'
import type { DeepSeekContentPart as Part } from './wire.ts'

/** The content of a user message: a list only where more than text is in it (reference 8.2). */
export function writeContent(content: Message['content']): string | readonly Part[] {
  const isText = !Array.isArray(content) || content.every(({ type }) => type === 'text')
  return isText ? joinText(content) : content.map(writePart)
}

/** The parts of a tool result that are not text; a tool message cannot hold them. */
export function writeAttachments(content: Message['content']): readonly Part[] {
  if (!Array.isArray(content)) return []
  return content.filter(({ type }) => type !== 'text').map(writePart)
}

function writePart(part: ContentPart): Part {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: readString(part.text) }
    case 'image_url':
      return writeImage(readObject(part.image_url))
    case 'file':
      return writeFile(readObject(part.file))
    default:
      throw refuseMessage('deepseek', `parts of type ${part.type}`)
  }
}

function writeImage({ url, detail }: ReturnType<typeof readObject>): Part {
  const isKnown = detail === 'auto' || detail === 'low' || detail === 'high'
  return { type: 'image_url', image_url: { url: readString(url), ...(isKnown && { detail }) } }
}

function writeFile({ file_id, file_data, filename }: ReturnType<typeof readObject>): Part {
  return {
    type: 'file',
    file: {
      ...(typeof file_id === 'string' && { file_id }),
      ...(typeof file_data === 'string' && { file_data }),
      ...(typeof filename === 'string' && { filename }),
    },
  }
}
