import type { EventLog, Plugin } from '../../core/contract/index.ts'
import { chatErrorBody } from '../../core/dialects/chat/error-body.ts'
import { responsesPaths } from '../openapi/responses.ts'
import { createActiveCalls, createResponsesDialect } from './dialect.ts'
import { addResponseRoutes } from './endpoints.ts'
import { createResponseRecorder, createResponseStore } from './store.ts'

const DAY_SECONDS = 24 * 60 * 60

/** The Responses API: answers `POST /v1/responses`, keeps responses for `keepDays`, replays them. */
export function createResponses(log: EventLog, keepDays: number): Plugin {
  return {
    name: 'responses',
    after: ['auth'],
    setup(_, { logger }) {
      const store = createResponseStore(log, Math.ceil(keepDays * DAY_SECONDS))
      const calls = createActiveCalls()
      const keeper = createResponseRecorder(store, logger)
      return {
        middleware(ctx, next) {
          const call = calls.get(ctx)
          if (call === undefined) return next()
          return next().catch(async (error) => {
            await keeper.recordFailure(ctx.exchange, call, error)
            throw error
          })
        },
        dialects: { '/v1/responses': createResponsesDialect(store, calls, keeper) },
        routes: (router) => addResponseRoutes(router, store, calls),
        openapi: responsesPaths,
        errorBody: chatErrorBody,
      }
    },
  }
}
