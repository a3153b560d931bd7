import type { ChatRequest, ExtraPart, Message, ReplyPart, ToolCall, ToolStart } from '../contract/index.ts'

/** A tool call of a reply, with its whole arguments or input. */
export interface RepliedCall {
  readonly start: Pick<ToolStart, 'index' | 'id' | 'name' | 'custom'>
  readonly json: string
}

/** What a model said, as a request, so that the same code inspects both. */
export function toReplyRequest(parts: readonly ReplyPart[]): ChatRequest {
  const texts: Record<string, string> = {}
  for (const part of parts) {
    if (isTextPart(part)) texts[TEXT_FIELDS[part.type]] = (texts[TEXT_FIELDS[part.type]] ?? '') + part.text
  }
  const tool_calls = collectCalls(parts).map(toToolCall)
  return { messages: [{ role: 'assistant', ...texts, tool_calls, ...toExtraFields(parts) }] }
}

/** The same for an extra part alone. */
export function toExtraRequest(part: ExtraPart): ChatRequest {
  return { messages: [{ role: 'assistant', ...toExtraFields([part]) }] }
}

/** Returns an extra part with the content of a masked request. */
export function withMaskedContent(part: ExtraPart, { messages: [message] }: ChatRequest): ExtraPart {
  return { ...part, content: contentsOf(message)[0] ?? part.content }
}

/** The contents of extra parts: the firewall inspects all of them like the data of reasoning. */
function toExtraFields(parts: readonly ReplyPart[]): Pick<Message, 'reasoning_data'> {
  const contents = parts.flatMap((part) => (part.type === 'extra' ? [part.content] : []))
  return contents.length === 0 ? {} : { reasoning_data: contents }
}

function contentsOf(message: Message | undefined): readonly ExtraPart['content'][] {
  return message?.reasoning_data ?? []
}

/** The same for tool calls alone. */
export function toCallsRequest(calls: readonly RepliedCall[]): ChatRequest {
  return { messages: [{ role: 'assistant', tool_calls: calls.map(toToolCall) }] }
}

/**
 * Returns the parts with the texts of a masked request. A text that was masked takes the place of its first
 * part.
 */
export function withMaskedTexts(
  parts: readonly ReplyPart[],
  { messages: [message] }: ChatRequest,
): readonly ReplyPart[] {
  const written = new Set<string>()
  const contents = [...contentsOf(message)]
  const isFirst = (key: string) => !written.has(key) && written.add(key) !== undefined
  return parts.flatMap((part): readonly ReplyPart[] => {
    if (isTextPart(part)) {
      const text = message?.[TEXT_FIELDS[part.type]]
      return isFirst(part.type) && typeof text === 'string' ? [{ ...part, text }] : []
    }
    if (part.type === 'extra') return [{ ...part, content: contents.shift() ?? part.content }]
    if (part.type !== 'tool-json') return [part]
    return isFirst(`${part.type} ${part.index}`) ? [{ ...part, json: argumentsOf(message, part.index) }] : []
  })
}

/** The arguments or the input of a tool call, by its position. */
export function argumentsOf(message: Message | undefined, position: number): string {
  const call = message?.tool_calls?.[position]
  const custom = call?.custom as { readonly input?: string } | undefined
  return custom?.input ?? call?.function?.arguments ?? ''
}

/** The field of a message that holds each kind of text. */
const TEXT_FIELDS = { text: 'content', reasoning: 'reasoning_content', refusal: 'refusal' } as const

export type TextKind = keyof typeof TEXT_FIELDS

export function isTextPart(part: ReplyPart): part is Extract<ReplyPart, { readonly type: TextKind }> {
  return Object.hasOwn(TEXT_FIELDS, part.type)
}

/** The calls by index; they are numbered without gaps. */
function collectCalls(parts: readonly ReplyPart[]): readonly RepliedCall[] {
  const calls: RepliedCall[] = []
  for (const part of parts) {
    if (part.type === 'tool-start') calls[part.index] = { start: part, json: '' }
    const call = part.type === 'tool-json' ? calls[part.index] : undefined
    if (call !== undefined && part.type === 'tool-json')
      calls[part.index] = { ...call, json: call.json + part.json }
  }
  return calls
}

function toToolCall({ start: { id, name, custom }, json }: RepliedCall): ToolCall {
  if (!custom) return { id, type: 'function', function: { name, arguments: json } }
  // The cast is safe: the firewall reads the call of a custom tool as OpenAI writes it.
  return { id, type: 'custom', custom: { name, input: json } } as unknown as ToolCall
}

/** Returns what a model produced in a part: text, reasoning, a refusal, or a part of a tool call. */
export function textOfPart(part: ReplyPart): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return part.text
    case 'tool-start':
      return part.name
    case 'tool-json':
      return part.json
    default:
      return ''
  }
}
