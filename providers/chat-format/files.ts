import type { ContentPart, Message } from '../../core/contract/chat.ts'
import { asObject, asString } from '../shared/fields.ts'
import { parseFilePart, toDataUrl, unsupportedFileError } from '../shared/files.ts'

/**
 * Returns messages whose files have OpenAI's form: a data URL, an id, or, in the Responses API, a URL.
 * Returns the same list if they do. Throws a `GatewayError` for a URL in chat completions.
 */
export function withOpenAiFiles(messages: readonly Message[], acceptsUrls = false): readonly Message[] {
  if (!messages.some(({ content }) => Array.isArray(content) && content.some(isOther))) return messages
  return messages.map((message, index) => {
    const { content } = message
    if (!Array.isArray(content)) return message
    const toPart = (part: ContentPart, partIndex: number) =>
      isOther(part) ? toOpenAiFile(part, `messages[${index}].content[${partIndex}]`, acceptsUrls) : part
    return { ...message, content: content.map(toPart) }
  })
}

/** Throws a `GatewayError` for the URL of a file in chat completions. */
export function checkOpenAiFile(part: ContentPart, path: string, acceptsUrls = false): void {
  if (isOther(part)) toOpenAiFile(part, path, acceptsUrls)
}

/** Whether a part is a file in another form than OpenAI's. */
function isOther({ type, file }: ContentPart): boolean {
  if (type !== 'file') return false
  const { file_data, file_id } = asObject(file)
  return !asString(file_data).startsWith('data:') && asString(file_id) === ''
}

function toOpenAiFile(part: ContentPart, path: string, acceptsUrls: boolean): ContentPart {
  const file = parseFilePart(part, path)
  const name = file.name === '' ? {} : { filename: file.name }
  if (file.type === 'data')
    return { ...part, file: { filename: 'document.pdf', ...name, file_data: toDataUrl(file) } }
  if (file.type === 'url' && acceptsUrls) return { ...part, file: { file_url: file.url } }
  throw unsupportedFileError('chat completions', path, file)
}
