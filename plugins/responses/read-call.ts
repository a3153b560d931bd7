import type { ChatRequest, JsonObject, Message } from '../../core/contract/index.ts'
import { readBody, readInput, readRequest } from '../../core/dialects/responses/read-request.ts'
import type { ResponsesBody } from '../../core/dialects/responses/request.ts'
import { type Soon, whenThere } from '../../core/soon.ts'
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
export function readCall(given: JsonObject, find: FindResponse): Soon<ReadCall> {
  return whenThere(resolveReferences(readBody(given), find), (body) => {
    const input = readInput(body)
    return whenThere(loadConversation(body, find), (earlier) => {
      return { body, input, earlier, request: readRequest(body, earlier, input) }
    })
  })
}
