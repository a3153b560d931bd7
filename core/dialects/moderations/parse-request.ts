import type { ChatRequest, ContentPart, JsonObject, Message } from '../../contract/index.ts'
import { createLazyParser } from '../../util/json-schema.ts'
import { TEXT_FIELDS, withoutFields } from '../operation-fields.ts'
import { moderationsRequestSchema } from './request-schema.ts'

const parseBody = createLazyParser(moderationsRequestSchema)

/**
 * Parses the body of `POST /v1/moderations`. Each text becomes a message of the user, as for embeddings;
 * texts and images that are judged together become one message.
 */
export function parseModerationsRequest(body: JsonObject): ChatRequest {
  const { input, ...fields } = parseBody(body)
  return { ...withoutFields(fields, TEXT_FIELDS, '/v1/moderations'), messages: toMessages(input) }
}

function toMessages(input: ReturnType<typeof parseBody>['input']): readonly Message[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  if (isTextList(input)) return input.map((content) => ({ role: 'user', content }))
  // The cast is safe: the schema allows parts of chats only.
  return [{ role: 'user', content: input as readonly ContentPart[] }]
}

/** The schema allows no list of several types, so the first item tells them apart. */
function isTextList(input: readonly unknown[]): input is readonly string[] {
  return typeof input[0] === 'string'
}
