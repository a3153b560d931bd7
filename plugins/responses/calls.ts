import type { GatewayContext } from '../../core/contract/index.ts'
import type { ResponsesCall } from '../../core/dialects/responses/call.ts'

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
