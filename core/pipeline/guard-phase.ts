import type { Logger } from 'pino'
import type { ClientConnection, Exchange, MaybePromise } from '../contract/index.ts'
import { isPromiseLike } from '../util/maybe-promise.ts'
import { watchAnnotations } from './check-annotations.ts'
import { describeType } from './check-reply.ts'
import { PhaseTimer } from './phase-timer.ts'

/** What the guards of a plugin package know of it. */
export interface PluginGuard {
  /** The plugin's name in error messages. */
  readonly title: string
  /** Maximum time of one phase, in milliseconds, without that of `next()`. */
  readonly timeoutMs: number
  readonly logger: Logger
}

type Client = Pick<ClientConnection, 'isAborted' | 'onAbort'>

/** Calls the code of a plugin in a phase, and waits for its result until the time is over. */
export function runPhase<Value>(
  guard: PluginGuard,
  phase: string,
  client: Client,
  call: () => MaybePromise<Value>,
  timer?: PhaseTimer,
): MaybePromise<Value> {
  const fail = (thrown: unknown): never => {
    throw toError(thrown, guard, phase)
  }
  let result: MaybePromise<Value>
  try {
    result = call()
  } catch (thrown) {
    return fail(thrown)
  }
  if (!isPromiseLike(result)) return result
  return (timer ?? createPhaseTimer(guard, phase, client)).watch(result).catch(fail)
}

/** As `runPhase`. What the plugin adds to the trace and the warnings of the exchange is checked, too. */
export function runExchangePhase<Value>(
  guard: PluginGuard,
  phase: string,
  exchange: Exchange,
  call: () => MaybePromise<Value>,
  timer?: PhaseTimer,
): MaybePromise<Value> {
  const check = watchAnnotations(exchange)
  const finish = (value: Value): Value => {
    try {
      check()
    } catch (issue) {
      throw new TypeError(`${guard.title} failed in ${phase}: ${(issue as TypeError).message}`)
    }
    return value
  }
  /** The error of the plugin goes first. */
  const fail = (thrown: unknown): never => {
    try {
      check()
    } catch {}
    throw thrown
  }
  let result: MaybePromise<Value>
  try {
    result = runPhase(guard, phase, exchange.client, call, timer)
  } catch (thrown) {
    return fail(thrown)
  }
  return isPromiseLike(result) ? result.then(finish, fail) : finish(result)
}

export function createPhaseTimer(
  { title, timeoutMs }: PluginGuard,
  phase: string,
  client: Client,
): PhaseTimer {
  return new PhaseTimer(client, timeoutMs, () => {
    const limit = client.isAborted ? 'when its client disconnected' : `within ${timeoutMs} ms`
    return new Error(`${title} did not end ${phase} ${limit} (timeouts.plugin_ms)`)
  })
}

/** What was thrown in place of an error could be a text of the request, so it is not shown. */
function toError(thrown: unknown, { title }: PluginGuard, phase: string): Error {
  if (thrown instanceof Error) return thrown
  return new TypeError(`${title} threw ${describeType(thrown)} in place of an error, in ${phase}`)
}

/** Marks a promise that nobody may wait for: its rejection must not end the process. */
export function handled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined)
  return promise
}
