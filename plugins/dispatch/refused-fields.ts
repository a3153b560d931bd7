import { type ChatRequest, GatewayError, type JsonObject } from '../../core/contract/index.ts'

/** Fields of chats that the endpoints of completions, embeddings and moderations do not have. */
export const CONVERSATION_FIELDS: readonly string[] = [
  ...['messages', 'tools', 'tool_choice', 'functions', 'function_call', 'extra_content'],
]

/** Fields of all requests for text that the endpoints of embeddings and moderations do not have. */
export const TEXT_FIELDS: readonly string[] = [
  ...CONVERSATION_FIELDS,
  ...['stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'response_format', 'n', 'store'],
]

/** Returns a body without these fields. Throws 400 for one of them, unless it is null or false. */
export function withoutFields(
  body: JsonObject,
  names: readonly string[],
  path: string,
): Omit<ChatRequest, 'messages'> {
  const fields: Record<string, unknown> = { ...body }
  for (const param of names) {
    if (body[param] != null && body[param] !== false) {
      const message = `POST ${path} does not support ${param}. Omit it.`
      throw new GatewayError('unsupported_parameter', message, { param })
    }
    delete fields[param]
  }
  return fields
}
