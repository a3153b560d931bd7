import type { ChatRequest, ContentPart, Message, Tool, ToolCall } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { ParameterChange } from '../../core/contract/provider.ts'
import { parseDataUrl } from '../../core/inspection/data-url.ts'
import { asObject, asObjects, asString } from './fields.ts'
import { unsupportedParameterError } from './request-errors.ts'

/**
 * Converts what a request holds in Anthropic's own format (`extra_content.anthropic`) for a provider of
 * another format. `omitted` names what has no counterpart. Returns the same request if it holds nothing.
 */
export function toPlainRequest(request: ChatRequest): { request: ChatRequest; omitted: readonly string[] } {
  const anthropic = request.extra_content?.anthropic
  if (!isJsonObject(anthropic)) return { request, omitted: [] }
  const { extra_content: _, ...plain } = request
  const omitted = new Set<string>()
  const { fields } = anthropic
  const tools = plain.tools?.flatMap((tool) => toPlainTool(tool, omitted))
  const converted = {
    ...plain,
    messages: plain.messages.map((message, index) => toPlainMessage(message, `messages[${index}]`, omitted)),
    ...toResponseFormat(asObject(fields)),
    ...toToolFields(plain, tools),
  }
  for (const [name, value] of Object.entries(asObject(fields)))
    if (value != null && !CONVERTED.has(name)) omitted.add(name)
  // The cast is safe: fields of the canonical request keep their types.
  return { request: converted as unknown as ChatRequest, omitted: [...omitted] }
}

/** Fields of the canonical request whose names in Anthropic's format are others. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['stop', 'stop_sequences'],
  ['parallel_tool_calls', 'tool_choice.disable_parallel_tool_use'],
  ['response_format', 'output_config.format'],
])

/** Returns the names of omitted fields as the caller of the request wrote them. */
export function toCallerNames({ extra_content }: ChatRequest, omitted: readonly string[]): readonly string[] {
  if (omitted.length === 0 || extra_content?.anthropic === undefined) return omitted
  const { thinking } = asObject(extra_content.anthropic.fields)
  const effort = thinking == null ? 'output_config.effort' : 'thinking'
  return omitted.map((name) => (name === 'reasoning_effort' ? effort : (NAMES.get(name) ?? name)))
}

/** The same for changed fields. */
export function withCallerNames(
  request: ChatRequest,
  changed: readonly ParameterChange[],
): readonly ParameterChange[] {
  if (changed.length === 0 || request.extra_content?.anthropic === undefined) return changed
  const names = toCallerNames(
    request,
    changed.map(({ param }) => param),
  )
  return changed.map((change, index) => ({ ...change, param: names[index] ?? change.param }))
}

/** Fields with a counterpart, and those about delivery, accounting and caching. */
const CONVERTED: ReadonlySet<string> = new Set([
  ...['thinking', 'output_config', 'output_format', 'metadata', 'service_tier', 'cache_control'],
  ...['diagnostics', 'user_profile_id'],
])

/** `output_format` is the name of the format in the beta. */
function toResponseFormat({
  output_config,
  output_format,
}: JsonObject): Pick<ChatRequest, 'response_format'> {
  const { type, schema } = asObject(asObject(output_config).format ?? output_format)
  if (type !== 'json_schema' || !isJsonObject(schema)) return {}
  return { response_format: { type, json_schema: { name: 'reply', schema, strict: true } } }
}

/** Providers reject a choice without tools, and that of a tool that was left out. */
function toToolFields({ tool_choice }: ChatRequest, tools: readonly Tool[] | undefined): JsonObject {
  if (tools === undefined) return {}
  if (tools.length === 0) return { tools: undefined, tool_choice: undefined, parallel_tool_calls: undefined }
  const { name } = asObject(asObject(tool_choice).function)
  const isKept = name === undefined || tools.some((tool) => tool.function?.name === name)
  return isKept ? { tools } : { tools, tool_choice: undefined }
}

function toPlainTool(tool: Tool, omitted: Set<string>): readonly Tool[] {
  const { extra_content, ...plain } = tool
  if (tool.type !== 'extra_content') return [plain as unknown as Tool]
  const { name, type } = asObject(extra_content?.anthropic)
  omitted.add(`tool ${asString(name) || asString(type)}`)
  return []
}

function toPlainMessage(message: Message, path: string, omitted: Set<string>): Message {
  const { extra_content, ...plain } = message
  const { content, tool_calls } = plain as unknown as Message
  const reasoning = Array.isArray(content) ? thinkingIn(content) : ''
  const converted = Array.isArray(content) ? toPlainContent(message, content, path, omitted).content : content
  const isError = asObject(extra_content?.anthropic).is_error === true
  return {
    ...plain,
    ...(converted !== undefined && { content: isError ? markToolError(converted) : converted }),
    ...(reasoning !== '' && { reasoning_content: reasoning }),
    ...(tool_calls && { tool_calls: tool_calls.map(toPlainCall) }),
  } as unknown as Message
}

/** Begins the result of a tool that failed, for providers without a field for that. */
export const TOOL_ERROR = '[tool error] '

function markToolError(content: Message['content']): Message['content'] & {} {
  const parts = Array.isArray(content) ? content : []
  const [first] = parts
  const text = typeof content === 'string' ? content : asString(first?.text)
  const marked = text.startsWith(TOOL_ERROR) ? text : TOOL_ERROR + text
  if (!Array.isArray(content)) return marked
  const rest = first?.type === 'text' ? parts.slice(1) : parts
  return [{ type: 'text', text: marked }, ...rest]
}

/** Keeps what other providers want back with a call. */
function toPlainCall({ extra_content, ...call }: ToolCall): ToolCall {
  const { anthropic: _, ...others } = asObject(extra_content)
  return { ...call, ...(Object.keys(others).length > 0 && { extra_content: others }) } as unknown as ToolCall
}

/** A list of texts stays a list, except in replies: some providers accept only strings there. */
function toPlainContent(
  { role }: Message,
  content: readonly ContentPart[],
  path: string,
  omitted: Set<string>,
): Pick<Message, 'content'> {
  const parts = content.flatMap((part, index) =>
    toPlainParts(part, role, `${path}.content[${index}]`, omitted),
  )
  if (role !== 'assistant') return { content: parts.length === 0 && content.length > 0 ? '' : parts }
  if (parts.some(({ type }) => type !== 'text')) return { content: parts }
  return { content: parts.length === 0 ? null : parts.map(({ text }) => text ?? '').join('') }
}

/** The thinking of an earlier reply, which some providers want back with its tool calls. */
function thinkingIn(content: readonly ContentPart[]): string {
  return content
    .map(({ extra_content }) => asObject(extra_content?.anthropic))
    .filter(({ type }) => type === 'thinking')
    .map(({ thinking }) => asString(thinking))
    .filter((thinking) => thinking !== '')
    .join('\n')
}

/** `path` is the location of the part, for errors. */
function toPlainParts(
  part: ContentPart,
  role: Message['role'],
  path: string,
  omitted: Set<string>,
): readonly ContentPart[] {
  const { extra_content, ...plain } = part
  if (part.type === 'file') return [toPlainFile(part)]
  if (part.type !== 'extra_content') return [plain as unknown as ContentPart]
  const block = asObject(extra_content?.anthropic)
  switch (block.type) {
    // Thinking is converted elsewhere; `tool_use` only marks the place of a call.
    case 'thinking':
    case 'redacted_thinking':
    case 'tool_use':
      return []
  }
  const parts = partsOf(block)
  if (parts.length > 0) return parts
  const type = asString(block.type)
  const text = toServerToolText(block)
  if (text !== undefined) return [{ type: 'text', text: role === 'assistant' ? `\n${text}\n` : text }]
  if (!MEDIA_BLOCKS.has(type)) {
    omitted.add(type)
    return []
  }
  if (role === 'user')
    throw unsupportedParameterError(
      path,
      `is a block of the type "${type}" whose source only anthropic reads.`,
    )
  // A request would fail in every later turn for a result that was accepted once.
  omitted.add(`${type} in tool results`)
  return [{ type: 'text', text: `[The ${type} was left out, because the model does not read it.]` }]
}

/** What a tool did that ran at Anthropic, or at an MCP server that it called; undefined for other blocks. */
function toServerToolText({ type, name, tool_name, input, content }: JsonObject): string | undefined {
  const kind = asString(type)
  if (kind === 'tool_reference') return `[${kind}] ${asString(tool_name)}`
  if (kind.endsWith('tool_use')) return `[${kind}] ${asString(name)} ${JSON.stringify(input ?? {})}`
  if (!kind.endsWith('tool_result')) return undefined
  const texts = asObjects(content).map(({ text }) => asString(text))
  const isText = texts.length > 0 && texts.every((text) => text !== '')
  return `[${kind}] ${isText ? texts.join('\n') : JSON.stringify(content ?? '', withoutEncrypted)}`
}

/** Only Anthropic reads these, and firewall rules do not inspect them. */
function withoutEncrypted(name: string, value: unknown): unknown {
  return name.startsWith('encrypted_') || UNREAD_FIELDS.has(name) ? undefined : value
}

const UNREAD_FIELDS: ReadonlySet<string> = new Set([
  ...['id', 'file_id', 'tool_use_id', 'signature', 'cache_control', 'caller', 'usage', 'citations'],
])

/** Blocks that hold what the user asks about. */
const MEDIA_BLOCKS: ReadonlySet<string> = new Set(['document', 'image'])

/** Other providers accept PDFs with a name, and no texts. */
function toPlainFile({ file }: ContentPart): ContentPart {
  const { file_data, file_url, filename } = asObject(file)
  if (file_url != null) return { type: 'file', file: { file_url, ...(filename != null && { filename }) } }
  const { mediaType, base64 } = parseDataUrl(asString(file_data)) ?? { mediaType: '', base64: '' }
  if (mediaType !== 'text/plain')
    return { type: 'file', file: { file_data, filename: filename ?? 'document.pdf' } }
  const text = Buffer.from(base64, 'base64').toString()
  return { type: 'text', text: [asString(filename), text].filter((each) => each !== '').join('\n') }
}

/** The texts of a block that consists of text, such as a search result, as one, and its images. */
function partsOf({ type, title, source, content }: JsonObject): readonly ContentPart[] {
  const body = type === 'document' ? asObject(source).content : content
  if (type !== 'document' && type !== 'search_result') return []
  const blocks = asObjects(body)
  const texts = Array.isArray(body) ? blocks.map(({ text }) => asString(text)) : [asString(body)]
  const text = texts.filter((each) => each !== '').join('\n')
  const images = blocks.flatMap(({ type, source }): readonly ContentPart[] => {
    const url = type === 'image' ? toImageUrl(asObject(source)) : undefined
    return url === undefined ? [] : [{ type: 'image_url', image_url: { url } }]
  })
  if (text === '') return images
  const titled = [asString(title), text].filter((each) => each !== '').join('\n')
  return [{ type: 'text', text: titled }, ...images]
}

const IMAGE_TYPE = /^image\/[\w.+-]+$/

/** Returns the URL of an image; undefined for a source that has none, such as a file at Anthropic. */
export function toImageUrl({ type, media_type, data, url, ...others }: JsonObject): string | undefined {
  if (hasValue(others)) return undefined
  if (type === 'url') return isHttpUrl(url) ? url : undefined
  const isImage = typeof media_type === 'string' && IMAGE_TYPE.test(media_type)
  return type === 'base64' && isImage && typeof data === 'string'
    ? `data:${media_type};base64,${data}`
    : undefined
}

/** Returns the file of a document; undefined for a source other than a PDF, a text or a URL. */
export function toFile({ type, media_type, data, url, ...others }: JsonObject): JsonObject | undefined {
  if (hasValue(others)) return undefined
  if (type === 'url') return isHttpUrl(url) ? { file_url: url } : undefined
  if (typeof data !== 'string') return undefined
  if (type === 'base64' && media_type === 'application/pdf')
    return { file_data: `data:${media_type};base64,${data}` }
  if (type !== 'text' || media_type !== 'text/plain') return undefined
  return { file_data: `data:text/plain;base64,${Buffer.from(data).toString('base64')}` }
}

function isHttpUrl(value: unknown): value is string {
  return typeof value === 'string' && /^https?:/i.test(value)
}

function hasValue(fields: JsonObject): boolean {
  return Object.values(fields).some((value) => value != null)
}
