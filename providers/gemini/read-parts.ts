import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { ReplyPart } from '../../core/contract/reply.ts'
import { readObject, readObjects, readString } from '../read-fields.ts'
import { writeSignature } from './thought-signature.ts'

/** Reads the parts of a candidate, or of one fragment of it after another. It keeps state: one reader per response. */
export type PartReader = (candidate: JsonObject, responseId: string) => readonly ReplyPart[]

/** A candidate may have no content: blocked, or all its tokens spent on thoughts. */
export function createPartReader(): PartReader {
  let calls = 0

  /** A call comes whole, from Gemini 3 on with an id. */
  function readCall(part: JsonObject, call: JsonObject, responseId: string): readonly ReplyPart[] {
    const index = calls++
    const id = readString(call.id) || `call_${responseId}_${index}`
    const signature = readString(part.thoughtSignature)
    const extra = signature === '' ? {} : { extra_content: writeSignature(signature) }
    return [
      { type: 'tool-start', index, id, name: readString(call.name), ...extra },
      { type: 'tool-json', index, json: JSON.stringify(call.args ?? {}) },
    ]
  }

  return ({ content }, responseId) =>
    readObjects(readObject(content).parts).flatMap((part) => {
      if (isJsonObject(part.functionCall)) return readCall(part, part.functionCall, responseId)
      const text = readString(part.text)
      if (text === '') return []
      return { type: part.thought === true ? 'reasoning' : 'text', text }
    })
}
