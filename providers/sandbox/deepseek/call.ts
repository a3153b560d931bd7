import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { Call } from '../format.ts'
import { readQuestion } from '../openai/question.ts'
import { Refusal } from '../refusal.ts'
import { checkBody } from './check.ts'
import { writeStream, writeWhole } from './reply.ts'

/** Reads the body of a chat request. Throws a `Refusal` (400) for one that DeepSeek would not take. */
export function readCall(body: unknown): Call {
  if (!isJsonObject(body)) throw new Refusal(400, 'Failed to parse the request body as JSON')
  const thinks = isThinking(body)
  const question = { ...readQuestion(body), wantsReasoning: thinks }
  checkBody(body, question, thinks)
  const { stream_options: options } = body
  const includesUsage = isJsonObject(options) && options.include_usage === true
  return {
    question,
    streams: body.stream === true,
    writeWhole,
    writeStream: (answer) => writeStream(answer, thinks, includesUsage),
  }
}

/** It thinks unless it is told not to. */
function isThinking({ thinking }: JsonObject): boolean {
  return !isJsonObject(thinking) || thinking.type !== 'disabled'
}
