import {
  type ChatRequest,
  type Dialect,
  type GatewayContext,
  GatewayError,
  type JsonObject,
  type Message,
} from '../../core/contract/index.ts'
import { chatErrorBody } from '../../core/dialects/chat/error-body.ts'
import { chooseForm, type ResponsesCall } from '../../core/dialects/responses/call.ts'
import {
  parseResponsesBody,
  parseResponsesInput,
  parseResponsesRequest,
} from '../../core/dialects/responses/read-request.ts'
import type { ResponsesBody } from '../../core/dialects/responses/request-schema.ts'
import { writeEvents, writeResponse } from '../../core/dialects/responses/write.ts'
import { requestIdSuffix } from '../../core/util/ids.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { type FindResponse, loadConversation, resolveReferences } from './conversation.ts'
import type { ResponseRecorder, ResponseStore } from './store.ts'

/** `POST /v1/responses`: continues stored conversations, and keeps what is answered. */
export function createResponsesDialect(
  store: ResponseStore,
  calls: Calls,
  keeper: ResponseRecorder,
): Dialect {
  function callOf(ctx: GatewayContext): ResponsesCall {
    const call = calls.of(ctx)
    if (call !== undefined) return call
    throw new GatewayError('internal_error', 'The call was not read before it was answered.')
  }

  return {
    parseRequest(given, ctx) {
      const find = (seed: string) => store.find(seed, ctx.account.userId)
      return chain(parseResponsesCall(given, find), ({ body, input, earlier, request }) => {
        calls.open(ctx, {
          body,
          seed: requestIdSuffix(ctx.requestId),
          createdAt: Math.floor(Date.now() / 1000),
          form: chooseForm(body, ctx.headers),
          inputCount: input.length,
          earlierCount: earlier.length,
        })
        return request
      })
    },
    writeWhole(exchange, ctx) {
      const call = callOf(ctx)
      return writeResponse(exchange, call, keeper.keepFor(exchange, call))
    },
    writeStream(exchange, ctx) {
      const call = callOf(ctx)
      return writeEvents(exchange, call, keeper.keepFor(exchange, call))
    },
    errorBody: chatErrorBody,
  }
}

/** The calls of the Responses API that this process is answering. */
export interface Calls {
  open(ctx: GatewayContext, call: ResponsesCall): void
  /** Undefined for a request of another kind. */
  of(ctx: GatewayContext): ResponsesCall | undefined
  isRunning(seed: string, userId: number): boolean
}

export function createCalls(): Calls {
  const running = new Map<string, number>()
  return {
    open(ctx, call) {
      ctx.state[CALL] = call
      running.set(call.seed, ctx.account.userId)
      ctx.client.onClose(() => running.delete(call.seed))
    },
    of: (ctx) => ctx.state[CALL],
    isRunning: (seed, userId) => running.get(seed) === userId,
  }
}

/** Where a request's own state holds its call. */
const CALL = 'responses call'

/** A body of `POST /v1/responses`, with everything that it refers to. */
interface ReadCall {
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
