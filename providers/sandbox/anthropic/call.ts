import { isJsonObject } from '../../../core/contract/index.ts'
import type { Call } from '../format.ts'
import { Refusal } from '../refusal.ts'
import { checkFields } from './check-fields.ts'
import { readQuestion } from './question.ts'
import { writeStream } from './stream.ts'
import { writeWhole } from './whole.ts'

/** Reads the body of a message request. Throws a `Refusal` (400) for one that Anthropic would not take. */
export function readCall(body: unknown, version: string): Call {
  if (version === '') throw new Refusal(400, 'anthropic-version: header is required')
  if (!isJsonObject(body)) throw new Refusal(400, 'The request body is not valid JSON.')
  checkFields(body)
  return { question: readQuestion(body), streams: body.stream === true, writeWhole, writeStream }
}
