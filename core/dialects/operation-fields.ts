import { type ChatRequest, GatewayError, type JsonObject } from '../contract/index.ts'

/** Fields of chat requests that the gateway reads; they mean nothing to other operations. */
const CHAT_FIELDS = [
  ...['messages', 'stream', 'stream_options', 'tools', 'tool_choice', 'functions', 'function_call'],
  ...['max_tokens', 'max_completion_tokens', 'response_format', 'n', 'store', 'extra_content'],
] as const

/** Throws 400 for a field of chat requests, unless it is null or false. */
export function refuseChatFields(body: JsonObject, path: string): void {
  const param = CHAT_FIELDS.find((name) => body[name] != null && body[name] !== false)
  if (param === undefined) return
  throw new GatewayError('unsupported_parameter', `${path} does not support ${param}. Omit it.`, { param })
}

/** Removes fields of chat requests, which may be null or false here. */
export function withoutChatFields(body: JsonObject): Omit<ChatRequest, 'messages'> {
  const fields: Record<string, unknown> = { ...body }
  for (const name of CHAT_FIELDS) delete fields[name]
  return fields
}
