import type { GatewayContext } from '../../core/contract/index.ts'
import type { Call } from '../../core/dialects/responses/call.ts'

/** The calls of the Responses API that this process is answering. */
export interface Calls {
  open(ctx: GatewayContext, call: Call): void
  /** Undefined for a request of another kind. */
  of(ctx: GatewayContext): Call | undefined
  isRunning(seed: string, userId: number): boolean
}

export function createCalls(): Calls {
  const calls = new WeakMap<GatewayContext, Call>()
  const running = new Map<string, number>()
  return {
    open(ctx, call) {
      calls.set(ctx, call)
      running.set(call.seed, ctx.account.userId)
      ctx.client.whenEnded(() => running.delete(call.seed))
    },
    of: (ctx) => calls.get(ctx),
    isRunning: (seed, userId) => running.get(seed) === userId,
  }
}
