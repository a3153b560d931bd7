import { type ChatRequest, type JsonObject, type Message, TokenIds } from '../../contract/index.ts'
import { createLazyParser } from '../../util/json-schema.ts'
import { TEXT_FIELDS, withoutFields } from '../operation-fields.ts'
import { embeddingsRequestSchema } from './request-schema.ts'

const parseBody = createLazyParser(embeddingsRequestSchema)

/**
 * Parses the body of `POST /v1/embeddings`. Each text becomes a message of the user, so that everything that
 * inspects, masks and measures messages does so with texts to embed. See docs/decisions/replies.md, "Texts to
 * embed or to judge are messages of the user".
 */
export function parseEmbeddingsRequest(body: JsonObject): ChatRequest {
  const { input, ...fields } = parseBody(body)
  const messages = toTexts(input).map(toInputMessage)
  return { ...withoutFields(fields, TEXT_FIELDS, '/v1/embeddings'), messages }
}

type Input = ReturnType<typeof parseBody>['input']

function toTexts(input: Input): readonly (string | readonly number[])[] {
  if (typeof input === 'string') return [input]
  return isTokenList(input) ? [input] : input
}

/** The schema allows no list of several types, so the first item tells them apart. */
function isTokenList(input: Exclude<Input, string>): input is readonly number[] {
  return typeof input[0] === 'number'
}

function toInputMessage(text: string | readonly number[]): Message {
  if (typeof text === 'string') return { role: 'user', content: text }
  return { role: 'user', content: [{ type: 'token_ids', token_ids: new TokenIds(text) }] }
}
