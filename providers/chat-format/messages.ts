import type { ChatRequest, ContentPart, Message, ToolCall } from '../../core/contract/chat.ts'
import type { FieldRules } from '../../core/contract/chat-format.ts'
import type { Target } from '../../core/contract/provider.ts'
import { asObject, asString } from '../shared/fields.ts'
import { parseFilePart, toDataUrl, unsupportedFileError } from '../shared/files.ts'
import { isInstruction } from '../shared/instructions.ts'
import { toChatReasoning } from '../shared/own-reasoning.ts'

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

/** The text of a message. The texts and refusals of a list of parts are joined by line breaks. */
export function joinText(content: Message['content']): string {
  if (typeof content === 'string') return content
  const texts = (content ?? []).map((part) => asString(part.text) || asString(part.refusal))
  return texts.filter((text) => text !== '').join('\n')
}

/**
 * Prepends an instruction unless the beginning of the conversation, which later messages do not change,
 * mentions JSON. JSON mode requires the word in the prompt: without it, providers answer 400 or endless
 * white space (docs/providers.md, "Mistral" and "DeepSeek").
 */
export function withJsonInstruction(messages: readonly Message[]): readonly Message[] {
  const firstTurn = messages.findIndex((message) => !isInstruction(message))
  const beginning = firstTurn === -1 ? messages : messages.slice(0, firstTurn + 1)
  const isMentioned = beginning.some(({ content }) => /json/i.test(joinText(content)))
  return isMentioned ? messages : [{ role: 'system', content: 'Answer in JSON.' }, ...messages]
}

/**
 * Messages for OpenAI and compatible providers: without what replies of other providers hold and clients send
 * back, which OpenAI refuses, with reasoning and files in its form. Returns the same array if there is
 * nothing to change.
 */
export function toCompatibleMessages(messages: readonly Message[]): readonly Message[] {
  const isChanged = ({ reasoning_data, tool_calls }: Message) =>
    reasoning_data !== undefined || tool_calls?.some(({ extra_content }) => extra_content !== undefined)
  const sent = withOpenAiFiles(messages)
  return sent.some(isChanged) ? sent.map(toCompatibleMessage) : sent
}

function toCompatibleMessage(message: Message): Message {
  const tool_calls = message.tool_calls?.map(({ extra_content: _, ...call }) => call as ToolCall)
  return { ...toChatReasoning(message), ...(tool_calls && { tool_calls }) }
}

/** Applies the rules for fields of messages. Returns the same list if no message has one of the fields. */
export function applyMessageRules(
  messages: readonly Message[],
  rules: FieldRules,
  request: ChatRequest,
  target: Target,
): readonly Message[] {
  const fields = Object.entries(rules)
  if (!messages.some((message) => fields.some(([field]) => message[field] !== undefined))) return messages
  return messages.map((message) => {
    const { ...changed }: Record<string, unknown> = message
    for (const [field, { name = field, convert }] of fields) {
      const value = message[field]
      if (value === undefined) continue
      delete changed[field]
      const sent = convert === undefined ? value : convert(value, request, target)
      if (name !== null && sent != null && sent !== '') changed[name] = sent
    }
    // The cast is safe: only optional fields were changed.
    return changed as Message
  })
}
