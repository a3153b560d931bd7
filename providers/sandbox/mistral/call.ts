import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { Call } from '../format.ts'
import { readQuestion } from '../openai/question.ts'
import { Refusal } from '../refusal.ts'
import { checkFields } from './fields.ts'
import { writeStream, writeWhole } from './reply.ts'
import { checkTurns } from './turns.ts'

/** Reads the body of a chat request. Throws a `Refusal` (400 or 422) for one that Mistral would not take. */
export function readCall(body: unknown): Call {
  if (!isJsonObject(body)) throw new Refusal(422, 'JSON decode error', { code: 'json_invalid' })
  checkFields(body)
  checkTurns(body)
  const { tool_choice: choice } = body
  return {
    question: {
      ...readQuestion({ ...body, tool_choice: choice === 'any' ? 'required' : choice }),
      wantsReasoning: wantsReasoning(body),
    },
    streams: body.stream === true,
    writeWhole,
    writeStream,
  }
}

function wantsReasoning({ reasoning_effort: effort, prompt_mode: mode }: JsonObject): boolean {
  return mode === 'reasoning' || (typeof effort === 'string' && effort !== 'none')
}
