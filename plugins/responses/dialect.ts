import { type Dialect, type GatewayContext, GatewayError } from '../../core/contract/index.ts'
import { chatErrorBody } from '../../core/dialects/chat/error-body.ts'
import { chooseForm, type ResponsesCall } from '../../core/dialects/responses/call.ts'
import { writeEvents } from '../../core/dialects/responses/write-stream.ts'
import { writeResponse } from '../../core/dialects/responses/write-whole.ts'
import { requestIdSuffix } from '../../core/ids.ts'
import { chain } from '../../core/soon.ts'
import type { Calls } from './calls.ts'
import type { ResponseRecorder } from './keeper.ts'
import { parseResponsesCall } from './read-call.ts'
import type { ResponseStore } from './store.ts'

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
