import type { MaybePromise, PluginParts, ReplyEvent, ReplyTransform } from '../contract/index.ts'
import { chain } from '../util/maybe-promise.ts'
import { checkEvents, describeType } from './check-reply.ts'
import { freezeEvent } from './freeze-reply.ts'
import { type PluginGuard, runExchangePhase } from './guard-phase.ts'

type InspectReply = NonNullable<PluginParts['inspect']>

/** Wraps `inspect` of a plugin package: its transforms must return events, and must not change theirs. */
export function guardInspect(inspect: InspectReply, guard: PluginGuard): InspectReply {
  return (exchange) => {
    const run = <Value>(call: () => MaybePromise<Value>) => runExchangePhase(guard, 'inspect', exchange, call)
    const check = (events: MaybePromise<readonly ReplyEvent[]>, known?: ReplyEvent) =>
      chain(events, (value) => checkEvents(value, `the result of a transform of ${guard.title}`, known))

    const toGuarded = (transform: unknown): ReplyTransform => {
      if (!isTransform(transform)) {
        throw new TypeError(
          `${guard.title} returned ${describeType(transform)} in place of a transform, in inspect`,
        )
      }
      return {
        transform: (event) =>
          check(
            run(() => transform.transform(freezeEvent(event))),
            event,
          ),
        ...(transform.flush && { flush: () => check(run(() => transform.flush?.() ?? [])) }),
      }
    }

    const result: unknown = run(() => inspect(exchange) as MaybePromise<ReturnType<InspectReply>>)
    return result === undefined || result === null ? undefined : [result].flat().map(toGuarded)
  }
}

function isTransform(value: unknown): value is ReplyTransform {
  const { transform, flush } = (value ?? {}) as Partial<Record<keyof ReplyTransform, unknown>>
  return typeof transform === 'function' && (flush === undefined || typeof flush === 'function')
}
