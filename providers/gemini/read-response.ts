import { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ReplyPart, Usage } from '../../core/contract/reply.ts'
import { readObject, readObjects, readString } from '../read-fields.ts'
import { isFailure, readFinishReason } from './finish-reason.ts'
import { createPartReader } from './read-parts.ts'
import { readUsage } from './read-usage.ts'

/** Reads one response, whole or fragment by fragment. */
export interface ResponseReader {
  /** Throws a `GatewayError` when the model failed before it answered anything. */
  read(fragment: JsonObject): readonly ReplyPart[]
  /** What only the end tells: why it ended, and the usage. Throws a `GatewayError` when it had not ended. */
  end(): readonly ReplyPart[]
}

/** https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse */
export function createResponseReader(): ResponseReader {
  const readParts = createPartReader()
  let started = false
  let hasAnswered = false
  let hasCalled = false
  let finishReason = ''
  let usage: Usage | undefined

  function readAnswer(candidate: JsonObject, responseId: string): readonly ReplyPart[] {
    const parts = readParts(candidate, responseId)
    hasAnswered ||= parts.some(({ type }) => type !== 'reasoning')
    hasCalled ||= parts.some(({ type }) => type === 'tool-start')
    finishReason = readString(candidate.finishReason) || finishReason
    if (hasAnswered || !isFailure(finishReason)) return parts
    throw new GatewayError('provider_error', `The model failed to answer: ${finishReason}.`)
  }

  function readFragment(fragment: JsonObject, responseId: string): readonly ReplyPart[] | undefined {
    const candidate = readObjects(fragment.candidates).find(({ index = 0 }) => index === 0)
    if (candidate) return readAnswer(candidate, responseId)
    const blockReason = readString(readObject(fragment.promptFeedback).blockReason)
    if (blockReason === '') return undefined
    // A blocked prompt is answered with status 200, without a candidate to give a reason.
    finishReason = 'PROHIBITED_CONTENT'
    return [{ type: 'refusal', text: `blocked: ${blockReason}` }]
  }

  return {
    read(fragment) {
      const id = readString(fragment.responseId)
      const parts = readFragment(fragment, id)
      usage = readUsage(fragment.usageMetadata) ?? usage
      if (!parts) return []
      const start: ReplyPart = { type: 'start', id, model: readString(fragment.modelVersion) }
      const all = started ? parts : [start, ...parts]
      started = true
      return all
    },
    end() {
      if (finishReason === '') {
        throw new GatewayError('provider_error', 'The provider stopped before the end of its reply.')
      }
      const finish: ReplyPart = { type: 'finish', reason: readFinishReason(finishReason, hasCalled) }
      return usage ? [finish, { type: 'usage', usage }] : [finish]
    },
  }
}
