import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { SandboxError } from './wire-format.ts'

// Signatures and encrypted reasoning. The sandbox keeps no state: it recognizes what it issued by its form.

/** Issues opaque data for a text in one format. */
export function issueReasoning(format: string, text: string): string {
  return Buffer.from(`${format} reasoning ${digestOf(format, text)}`).toString('base64')
}

function digestOf(format: string, text: string): string {
  return createHash('sha256').update(`${format}\n${text}`).digest('hex')
}

/** Whether the sandbox issued the data in this format, for `text` if that is given. */
export function isIssuedReasoning(format: string, data: unknown, text?: string): boolean {
  if (typeof data !== 'string') return false
  const [, digest] = new RegExp(`^${format} reasoning ([0-9a-f]{64})$`).exec(decode(data)) ?? []
  return digest !== undefined && (text === undefined || digest === digestOf(format, text))
}

function decode(data: string): string {
  return Buffer.from(data, 'base64').toString('latin1')
}

/** The replies with tool calls that no message of the user follows, with their indexes. */
function pendingCallMessages(messages: readonly JsonObject[]): readonly [number, JsonObject][] {
  const lastOfUser = messages.findLastIndex(({ role }) => role === 'user')
  return [...messages.entries()].filter(
    ([index, { tool_calls }]) => index > lastOfUser && Array.isArray(tool_calls) && tool_calls.length > 0,
  )
}

/** The messages of a body in the format of chat completions. */
export function messagesIn({ messages }: JsonObject): readonly JsonObject[] {
  return Array.isArray(messages) ? messages.filter(isJsonObject) : []
}

/** Throws a `SandboxError` (400) for a reply with tool calls whose reasoning `has` does not find. */
export function requireReasoning(
  messages: readonly JsonObject[],
  field: string,
  has: (message: JsonObject) => boolean,
): void {
  const missing = pendingCallMessages(messages).find(([, message]) => !has(message))
  if (missing === undefined) return
  const [index] = missing
  throw new SandboxError(
    400,
    `thinking is enabled but ${field} is missing in assistant tool call message at index ${index}`,
    { param: `messages[${index}].${field}` },
  )
}
