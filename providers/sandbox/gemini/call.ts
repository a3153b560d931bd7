import { isJsonObject } from '../../../core/contract/index.ts'
import type { Call } from '../format.ts'
import { Refusal } from '../refusal.ts'
import { refuseUnknownFields } from './known-fields.ts'
import { readQuestion } from './question.ts'
import { createReplyWriter } from './reply.ts'

/** Reads a request, whose path names the model and the method. Throws a `Refusal` (400) for one that Gemini would not take. */
export function readCall(path: string, body: unknown): Call {
  if (!isJsonObject(body)) throw new Refusal(400, 'Invalid JSON payload received.')
  refuseUnknownFields(body)
  const [, name = '', method] = /([^/]+):(\w+)$/.exec(path) ?? []
  const model = decodeURIComponent(name)
  const signs = signsThoughts(model)
  return {
    question: readQuestion(model, body, signs),
    streams: method === 'streamGenerateContent',
    ...createReplyWriter(signs),
  }
}

/** From Gemini 3 on, calls have ids and thoughts are signed. */
function signsThoughts(model: string): boolean {
  return !/^gemini-[12]\b|^gemma/.test(model)
}
