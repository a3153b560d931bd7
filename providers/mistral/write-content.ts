import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { refuseMessage } from '../chat-format/refuse-message.ts'
import { readObject, readString } from '../read-fields.ts'
import type { Content, ContentChunk } from './wire.ts'

/** The content of a user or tool message, part by part, each with known fields only (reference 3, 7.1). */
export function writeContent(content: Message['content']): Content {
  return typeof content === 'string' ? content : (content ?? []).map(writePart)
}

function writePart(part: ContentPart): ContentChunk {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: readString(part.text) }
    case 'image_url':
      return writeImage(part.image_url)
    case 'input_audio':
      return { type: 'input_audio', input_audio: readString(readObject(part.input_audio).data) }
    case 'file':
      return writeFile(part)
    case 'document_url':
      return writeDocument(readString(part.document_url), readString(part.document_name))
    default:
      throw refuseMessage('mistral', `parts of type ${part.type}`)
  }
}

/** The URL alone is Mistral's own spelling. */
function writeImage(image: unknown): ContentChunk {
  const { url, detail } = typeof image === 'string' ? { url: image } : readObject(image)
  return {
    type: 'image_url',
    image_url: { url: readString(url), ...(typeof detail === 'string' && { detail }) },
  }
}

function writeFile(part: ContentPart): ContentChunk {
  const { file_id, file_data, filename } = readObject(part.file)
  const id = readString(file_id)
  return id === ''
    ? writeDocument(readString(file_data), readString(filename))
    : { type: 'file', file_id: id }
}

function writeDocument(url: string, name: string): ContentChunk {
  return { type: 'document_url', document_url: url, ...(name !== '' && { document_name: name }) }
}
