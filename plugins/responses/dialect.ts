import {
  type ChatRequest,
  type Dialect,
  type GatewayContext,
  GatewayError,
  type JsonObject,
  type Message,
} from '../../core/contract/index.ts'
import { chatErrorBody } from '../../core/dialects/chat/error-body.ts'
import { chooseResponseForm, type ResponsesCall } from '../../core/dialects/responses/call.ts'
import {
  parseResponsesBody,
  parseResponsesInput,
  parseResponsesRequest,
} from '../../core/dialects/responses/parse-request.ts'
import type { ResponsesBody } from '../../core/dialects/responses/request-schema.ts'
import { completeResponse, streamResponseEvents } from '../../core/dialects/responses/write-response.ts'
import { requestIdSuffix } from '../../core/util/ids.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { type FindResponse, loadConversation, resolveReferences } from './conversation.ts'
import type { ResponseRecorder, ResponseStore } from './store.ts'

/** `POST /v1/responses`: continues stored conversations, and keeps what is answered. */
export function createResponsesDialect(
  store: ResponseStore,
  calls: ActiveCalls,
  keeper: ResponseRecorder,
): Dialect {
  function callOf(ctx: GatewayContext): ResponsesCall {
    const call = calls.get(ctx)
    if (call !== undefined) return call
    throw new GatewayError('internal_error', 'The call was not read before it was answered.')
  }

  return {
    parseRequest(given, ctx) {
      const find = (seed: string) => store.find(seed, ctx.account.userId)
      return chain(parseResponsesCall(given, find), ({ body, input, earlier, request }) => {
        calls.add(ctx, {
          body,
          responseKey: requestIdSuffix(ctx.requestId),
          createdAt: Math.floor(Date.now() / 1000),
          form: chooseResponseForm(body, ctx.headers),
          inputCount: input.length,
          earlierCount: earlier.length,
        })
        return request
      })
    },
    writeWhole(exchange, ctx) {
      const call = callOf(ctx)
      return completeResponse(exchange, call, keeper.persisterFor(exchange, call))
    },
    writeStream(exchange, ctx) {
      const call = callOf(ctx)
      return streamResponseEvents(exchange, call, keeper.persisterFor(exchange, call))
    },
    errorBody: chatErrorBody,
  }
}

/** The calls of the Responses API that this process is answering. */
export interface ActiveCalls {
  add(ctx: GatewayContext, call: ResponsesCall): void
  /** Undefined for a request of another kind. */
  get(ctx: GatewayContext): ResponsesCall | undefined
  isRunning(seed: string, userId: number): boolean
}

export function createActiveCalls(): ActiveCalls {
  const running = new Map<string, number>()
  return {
    add(ctx, call) {
      ctx.state[CALL] = call
      running.set(call.responseKey, ctx.account.userId)
      ctx.client.onClose(() => running.delete(call.responseKey))
    },
    get: (ctx) => ctx.state[CALL],
    isRunning: (seed, userId) => running.get(seed) === userId,
  }
}

/** Where a request's own state holds its call. */
const CALL = 'responses call'

/** A body of `POST /v1/responses`, with everything that it refers to. */
interface ParsedCall {
  readonly body: ResponsesBody
  /** What the call itself says. */
  readonly input: readonly Message[]
  /** What was said before it. */
  readonly earlier: readonly Message[]
  readonly request: ChatRequest
}

/** Reads a call and what it refers to; throws 400 that names the field at fault. */
export function parseResponsesCall(given: JsonObject, find: FindResponse): MaybePromise<ParsedCall> {
  return chain(resolveReferences(parseResponsesBody(given), find), (body) => {
    const input = parseResponsesInput(body)
    return chain(loadConversation(body, find), (earlier) => {
      return { body, input, earlier, request: parseResponsesRequest(body, earlier, input) }
    })
  })
}
