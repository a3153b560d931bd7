import type { ToolCall } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { readObject, readString } from '../read-fields.ts'

/** What a tool call carries to the client and back, in the form of Google's own OpenAI-compatible endpoint. */
export function writeSignature(signature: string): JsonObject {
  return { google: { thought_signature: signature } }
}

export function readSignature({ extra_content }: ToolCall): string | undefined {
  const { google } = readObject(extra_content)
  return readString(readObject(google).thought_signature) || undefined
}
