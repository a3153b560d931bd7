import type { ChatRequest, JsonObject, Message } from '../../core/contract/index.ts'
import {
  parseResponsesBody,
  parseResponsesInput,
  parseResponsesRequest,
} from '../../core/dialects/responses/read-request.ts'
import type { ResponsesBody } from '../../core/dialects/responses/request.ts'
import { chain, type MaybePromise } from '../../core/soon.ts'
import { type FindResponse, loadConversation, resolveReferences } from './conversation.ts'

/** A body of `POST /v1/responses`, with everything that it refers to. */
export interface ReadCall {
  readonly body: ResponsesBody
  /** What the call itself says. */
  readonly input: readonly Message[]
  /** What was said before it. */
  readonly earlier: readonly Message[]
  readonly request: ChatRequest
}

/** Reads a call and what it refers to; throws 400 that names the field at fault. */
export function parseResponsesCall(given: JsonObject, find: FindResponse): MaybePromise<ReadCall> {
  return chain(resolveReferences(parseResponsesBody(given), find), (body) => {
    const input = parseResponsesInput(body)
    return chain(loadConversation(body, find), (earlier) => {
      return { body, input, earlier, request: parseResponsesRequest(body, earlier, input) }
    })
  })
}
