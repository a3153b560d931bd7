import type { GatewayContext, GatewayMiddleware } from '../contract/index.ts'
import { inTurn, type MaybePromise } from '../util/maybe-promise.ts'

/** What happens to a request. Throws, or rejects, to refuse it. */
export type Step = (ctx: GatewayContext) => MaybePromise<void>

/** A step before the next ones, or what makes one of all next ones. */
export type Stage = { readonly before: Step } | { readonly around: (next: Step) => Step }

/** Returns the stage of Koa middleware. That it calls `next` once is checked for that of packages. */
export function middlewareStage(middleware: GatewayMiddleware): Stage {
  return { around: (next) => (ctx) => middleware(ctx, () => callAsync(next, ctx)) }
}

/**
 * Composes stages and what comes last to one step, when the gateway starts. Most requests wait twice, for the
 * body and for the provider, so most stages are plain calls: Koa's way takes a function and two promises for
 * each.
 */
export function composeStages(stages: readonly Stage[], last: Step): Step {
  const place = stages.findIndex((stage) => 'around' in stage)
  const steps = stages.slice(0, place < 0 ? stages.length : place)
  const before = steps.flatMap((stage) => ('before' in stage ? [stage.before] : []))
  const stage = stages[place]
  if (stage === undefined || !('around' in stage)) return inTurn([...before, last])
  return inTurn([...before, stage.around(composeStages(stages.slice(place + 1), last))])
}

/** Returns the same as Koa middleware that does not call `next`. */
export function toMiddleware(step: Step): GatewayMiddleware {
  return (ctx) => callAsync(step, ctx)
}

async function callAsync(step: Step, ctx: GatewayContext): Promise<void> {
  return step(ctx)
}
