import {
  isJsonObject,
  type JsonObject,
  type Message,
  type ReasoningData,
  type ReplyPart,
  type Target,
  type ToolCall,
  type ToolStart,
} from '../contract/index.ts'
import { parseJson } from '../util/json.ts'
import { addToChecksum, EMPTY_CHECKSUM } from '../util/text-checksum.ts'

// How the data of reasoning travels through clients that do not know its format: as one encoded text, in the
// field for signatures or encrypted reasoning that their dialect has.

const PREFIX = 'sbr1.'

/** Encodes data as text of the characters `A-Za-z0-9_.-`. It is not encrypted. */
export function encodeReasoning(data: readonly ReasoningData[]): string {
  return PREFIX + Buffer.from(JSON.stringify(data)).toString('base64url')
}

/** Whether a text was written by `encodeReasoning`. */
export function isEncodedReasoning(text: unknown): text is string {
  return typeof text === 'string' && text.startsWith(PREFIX)
}

/** Returns the encoded data; nothing for any other text. */
export function decodeReasoning(text: unknown): readonly ReasoningData[] {
  if (!isEncodedReasoning(text)) return []
  const data = parseJson(Buffer.from(text.slice(PREFIX.length), 'base64url').toString())
  return Array.isArray(data) ? data.filter(isReasoningData) : []
}

const FORMATS = ['anthropic', 'openai', 'chat', 'google'] as const

function isReasoningData(value: unknown): value is ReasoningData {
  if (!isJsonObject(value)) return false
  const { provider = '', model = '' } = value
  if (typeof provider !== 'string' || typeof model !== 'string') return false
  return FORMATS.some((format) => isJsonObject(value[format]))
}

/** Collects the data of the reasoning in a reply. `target` is the one that replies. */
export class ReasoningCollector {
  readonly #origin: Pick<ReasoningData, 'provider' | 'model'>
  #thinking = ''
  #data: ReasoningData[] = []

  constructor(target: Pick<Target, 'provider' | 'model'> | undefined) {
    this.#origin = target === undefined ? {} : { provider: target.provider, model: target.model }
  }

  add(part: ReplyPart): void {
    if (part.type === 'reasoning') this.#thinking += part.text
    else if (part.type === 'tool-start') this.#data.push(...signatureOf(part))
    else if (part.type === 'extra') {
      const { anthropic, openai, chat } = part.content
      if (anthropic !== undefined) this.#addBlock(anthropic, part.textChecksum)
      else if (openai !== undefined || chat !== undefined) this.#push(part.content)
    }
  }

  /** Returns what was added since the last call. */
  take(): readonly ReasoningData[] {
    if (this.#data.length === 0) return NO_DATA
    return this.#data.splice(0)
  }

  #addBlock({ type, ...fields }: JsonObject, textChecksum: number | undefined): void {
    if (type === 'redacted_thinking') this.#push({ anthropic: { type, ...fields } })
    if (type === 'signature_delta') {
      const thinking = this.#thinking
      // A signature is not valid for thinking that a rule has changed.
      const isUnchanged = addToChecksum(EMPTY_CHECKSUM, thinking) === textChecksum
      if (isUnchanged) this.#push({ anthropic: { type: 'thinking', thinking, ...fields } })
    }
    if (type === 'signature_delta' || type === 'thinking') this.#thinking = ''
  }

  #push(data: ReasoningData): void {
    this.#data.push({ ...this.#origin, ...data })
  }
}

const NO_DATA: readonly ReasoningData[] = []

/** The signature that a call carries. */
export function signatureOf({ extra_content }: Pick<ToolStart, 'extra_content'>): readonly ReasoningData[] {
  const google = extra_content?.google
  return isJsonObject(google) ? [{ google }] : NO_DATA
}

/** Adds data to a message of the history. The signature of a call goes to the call with this index. */
export function withReasoningData(
  message: Message,
  data: readonly ReasoningData[],
  callIndex: number,
): Message {
  const others = data.filter(({ google }) => google === undefined)
  const google = data.find((each) => each.google !== undefined)?.google
  const { tool_calls: calls, reasoning_data: earlier } = message
  return {
    ...message,
    // Clients can send any value.
    ...(others.length > 0 && { reasoning_data: [...(Array.isArray(earlier) ? earlier : []), ...others] }),
    ...(google !== undefined &&
      calls != null && {
        tool_calls: calls.map((call, index) => (index === callIndex ? withSignature(call, google) : call)),
      }),
  }
}

function withSignature(call: ToolCall, google: JsonObject): ToolCall {
  return { ...call, extra_content: { google, ...call.extra_content } }
}

/** Decodes what calls of the history carry. Returns the same messages if there is nothing. */
export function decodeCarriedReasoning(messages: readonly Message[]): readonly Message[] {
  return messages.some(carriesReasoning) ? messages.map(decodeMessage) : messages
}

function carriesReasoning({ tool_calls }: Message): boolean {
  return tool_calls?.some(({ extra_content }) => extra_content?.reasoning !== undefined) === true
}

function decodeMessage(message: Message): Message {
  if (!carriesReasoning(message)) return message
  const calls = message.tool_calls ?? []
  const decoded = { ...message, tool_calls: calls.map(withoutCarried) }
  return calls.reduce((built: Message, { extra_content }, index) => {
    const data = decodeReasoning(extra_content?.reasoning)
    return data.length === 0 ? built : withReasoningData(built, data, index)
  }, decoded)
}

function withoutCarried(call: ToolCall): ToolCall {
  const { extra_content, ...plain } = call
  const { reasoning: _, ...others } = extra_content ?? {}
  // The cast is safe: only an optional field was removed.
  return (Object.keys(others).length === 0 ? plain : { ...plain, extra_content: others }) as ToolCall
}
