import { isJsonObject } from '../../../core/contract/index.ts'
import type { Call } from '../format.ts'
import { Refusal } from '../refusal.ts'
import { readQuestion } from './question.ts'
import { writeStream, writeWhole } from './reply.ts'
import { findUnknownFields } from './unknown-fields.ts'

/** Reads the body of a chat request. Throws a `Refusal` (400) for one that OpenAI would not take. */
export function readCall(body: unknown): Call {
  if (!isJsonObject(body)) throw new Refusal(400, 'We could not parse the JSON body of your request.')
  const { stream_options: options } = body
  const includesUsage = isJsonObject(options) && options.include_usage === true
  const unknownFields = findUnknownFields(body)
  return {
    question: readQuestion(body),
    streams: body.stream === true,
    writeWhole: (answer) => writeWhole(answer, unknownFields),
    writeStream: (answer) => writeStream(answer, unknownFields, includesUsage),
  }
}
