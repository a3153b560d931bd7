import type { Logger } from 'pino'
import type { ClientConnection, MaybePromise, ReplyingExchange } from '../contract/index.ts'
import { checkHeader } from '../http/server/default-headers.ts'
import { freezeJson } from '../util/json.ts'
import { isPromiseLike } from '../util/maybe-promise.ts'
import { noteThrower, runAsPlugin } from '../util/plugin-context.ts'
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
    result = runAsPlugin(guard.title, call)
    // A getter of the plugin's may throw.
    if (!isPromiseLike(result)) return result
  } catch (thrown) {
    return fail(thrown)
  }
  return (timer ?? createPhaseTimer(guard, phase, client)).watch(result).catch(fail)
}

/** Calls the code of a plugin that must not wait. A promise would count as true, or as one without fields. */
export function runSync<Value>(guard: PluginGuard, phase: string, call: () => Value): Value {
  try {
    const result = runAsPlugin(guard.title, call)
    if (!isPromiseLike(result)) return result
    throw new TypeError(`${guard.title} returned ${describeType(result)} in ${phase}, which must not wait`)
  } catch (thrown) {
    throw toError(thrown, guard, phase)
  }
}

/**
 * As `runPhase`. What the plugin adds to the trace and the warnings of the exchange is checked, too, and so
 * are its headers for calls to providers. The request is frozen: guards recognise a change by another object.
 */
export function runExchangePhase<Value>(
  guard: PluginGuard,
  phase: string,
  exchange: ReplyingExchange,
  call: () => MaybePromise<Value>,
  timer?: PhaseTimer,
): MaybePromise<Value> {
  const check = watchAnnotations(exchange)
  const checkHeaders = watchCallHeaders(exchange, guard)
  freezeJson(exchange.request)
  const finish = (value: Value): Value => {
    checkHeaders()
    try {
      check()
      freezeJson(exchange.request)
    } catch (issue) {
      const { message } = issue as TypeError
      throw toError(new TypeError(`${guard.title} failed in ${phase}: ${message}`), guard, phase)
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

/**
 * Returns a function that wraps `headersOfCall`, if the plugin has set it since: a header that cannot be sent
 * would count as a failure of the provider.
 */
export function watchCallHeaders(exchange: ReplyingExchange, guard: PluginGuard): () => void {
  const known = exchange.headersOfCall
  return () => {
    const own = exchange.headersOfCall
    if (own === known || own === undefined) return
    exchange.headersOfCall = (target) =>
      runSync(guard, 'headersOfCall', () => {
        const headers = own(target)
        if (isPromiseLike(headers)) return headers
        for (const [name, value] of Object.entries(headers)) checkHeader(name, value)
        return headers
      })
  }
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

/**
 * Returns what can be logged, and who has thrown it. What was thrown in place of an error could be a text of
 * the request, so it is not shown.
 */
export function toError(thrown: unknown, { title }: Pick<PluginGuard, 'title'>, phase: string): Error {
  const isError = isReadableError(thrown)
  const error = isError
    ? thrown
    : new TypeError(`${title} threw ${describeType(thrown)} in place of an error, in ${phase}`)
  noteThrower(error, title)
  return error
}

/** The logger reads all fields of an error, whose getters must not throw. */
function isReadableError(thrown: unknown): thrown is Error {
  try {
    if (!(thrown instanceof Error)) return false
    const { message, name } = thrown
    const stack: unknown = thrown.stack ?? ''
    for (const key in thrown) void (thrown as unknown as Record<string, unknown>)[key]
    return [message, name, stack].every((text) => typeof text === 'string')
  } catch {
    return false
  }
}
