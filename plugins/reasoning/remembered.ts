import { hash } from 'node:crypto'
import {
  isJsonObject,
  type JsonObject,
  type Message,
  type ReasoningData,
  type ToolCall,
} from '../../core/contract/index.ts'
import { withReasoningData } from '../../core/dialects/carried-reasoning.ts'

/** What a message with tool calls had as its reasoning. The message is identified by its first call. */
export interface RememberedTurn {
  readonly callId: string
  /** Empty if only the data is of use. */
  readonly text: string
  /** By the index of the call that it precedes. */
  readonly data: readonly (readonly ReasoningData[])[]
}

/** The reasoning of a conversation up to a message with tool calls, oldest first. */
export interface Remembered extends JsonObject {
  readonly turns: readonly RememberedTurn[]
}

/** In characters of JSON. */
const MAX_LENGTH = 256 * 1024

/**
 * Adds a turn; undefined if it is too long alone. If the turns are too long together, drops enough of the
 * oldest to leave room for the next ones: a prompt whose beginning changes with each turn is never cached.
 */
export function appendTurn(earlier: readonly RememberedTurn[], turn: RememberedTurn): Remembered | undefined {
  const turns = [...earlier, turn]
  const lengths = turns.map((each) => JSON.stringify(each).length)
  let total = lengths.reduce((sum, length) => sum + length, 0)
  if (total <= MAX_LENGTH) return { turns }
  let dropped = 0
  for (; total > MAX_LENGTH / 2 && dropped < earlier.length; dropped++) total -= lengths[dropped] ?? 0
  return total > MAX_LENGTH ? undefined : { turns: turns.slice(dropped) }
}

/** Checks the shape, since other programs can write to Redis. */
export function toRememberedTurns(stored: unknown): readonly RememberedTurn[] {
  const turns = isJsonObject(stored) && Array.isArray(stored.turns) ? stored.turns.filter(isJsonObject) : []
  return turns.flatMap(({ callId, text, data }) =>
    typeof callId === 'string' && typeof text === 'string' && isListOfLists(data)
      ? [{ callId, text, data }]
      : [],
  )
}

function isListOfLists(value: unknown): value is RememberedTurn['data'] {
  return Array.isArray(value) && value.every((list) => Array.isArray(list) && list.every(isJsonObject))
}

/** Whether the client has sent back the text of the reasoning, which is all that some providers want. */
export function hasText({ reasoning_content, reasoning, reasoning_details }: Message): boolean {
  return Boolean(reasoning_content || reasoning || reasoning_details)
}

/** Whether a message has calls, but no data of reasoning that its client has sent back. */
export function lacksData({ content, tool_calls, reasoning_data }: Message): boolean {
  if (tool_calls == null || tool_calls.length === 0 || reasoning_data !== undefined) return false
  if (tool_calls.some(({ extra_content }) => extra_content?.google !== undefined)) return false
  return !(
    Array.isArray(content) && content.some(({ extra_content }) => isThinking(extra_content?.anthropic))
  )
}

function isThinking(block: JsonObject | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking'
}

/** Adds what is remembered to the messages that lack it. Returns the same messages if there are none. */
export function withRemembered(
  messages: readonly Message[],
  turns: readonly RememberedTurn[],
): readonly Message[] {
  if (turns.length === 0) return messages
  const byCall = new Map(turns.map((turn) => [turn.callId, turn]))
  return messages.map((message) => {
    const turn = byCall.get(message.tool_calls?.[0]?.id ?? '')
    return turn !== undefined && lacksData(message) ? addTurn(message, turn) : message
  })
}

function addTurn(message: Message, { text, data }: RememberedTurn): Message {
  const told = text === '' || hasText(message) ? message : { ...message, reasoning_content: text }
  return data.reduce<Message>(
    (built, each, index) => (each.length === 0 ? built : withReasoningData(built, each, index)),
    told,
  )
}

/**
 * The key under which the reasoning up to the message with this call is remembered. Some providers count the
 * calls of a conversation in their ids, as in `functions.search:0`: then what was said before counts, too.
 */
export function keyOfCall(
  userId: number,
  { id, function: called }: Pick<ToolCall, 'id'> & { readonly function?: { readonly name: string } },
  before: readonly Message[],
): string {
  const texts = [id, called?.name ?? '']
  if (!isUnique(id, called?.name))
    for (const { role, content } of before) if (role === 'user' || role === 'tool') addTexts(texts, content)
  // One call: a `Hash` and its updates take longer than the hashing of a long conversation.
  return `${userId}:${hash('sha256', texts.join('\0'), 'base64url')}`
}

function isUnique(id: string, name = ''): boolean {
  return (name === '' || !id.includes(name)) && /[A-Za-z0-9]{16}/.test(id.replaceAll('-', ''))
}

/** Adds the texts of a message and their number, so that other divisions have other keys. */
function addTexts(texts: string[], content: Message['content']): void {
  if (typeof content === 'string') texts.push('1', content)
  else if (content != null) {
    texts.push(String(content.length))
    for (const { text } of content) texts.push(text ?? '')
  }
}
