import type {
  EndedRequest,
  GatewayMiddleware,
  PluginParts,
  ReplyingExchange,
  RequestObserver,
} from '../contract/index.ts'
import { isPromiseLike } from '../util/maybe-promise.ts'
import { runAsGateway, runAsPlugin } from '../util/plugin-context.ts'
import type { AdapterRegistry } from './adapter-registry.ts'
import { handled } from './check-reply.ts'
import { freezeShared, type SharedFields } from './freeze-shared.ts'
import { guardAdapter } from './guard-adapter.ts'
import { guardEndpoint } from './guard-endpoint.ts'
import { guardInspect } from './guard-inspect.ts'
import { guardAction, guardCondition } from './guard-operators.ts'
import { type PluginGuard, runExchangePhase, runPhase, toError } from './guard-phase.ts'
import { guardReply } from './guard-reply.ts'
import { PLUGIN_PARTS } from './parse-plugin-parts.ts'

/**
 * Wraps the phases of a plugin package: a mistake in its code ends one request with an error that names the
 * plugin. Built-in plugins are on the hot path, and are not wrapped. See docs/decisions/plugins.md, "A
 * mistake of a package ends one request".
 */
export function guardPlugin(
  parts: PluginParts,
  guard: PluginGuard,
  toAdapter: AdapterRegistry['toAdapter'],
): PluginParts {
  const bound = bindParts(parts)
  const { admit, decide, confirm, reply, inspect, confirmReply, rejected, middleware } = bound
  const { observe, close, endpoints, conditions, actions, providers } = bound
  return {
    ...bound,
    ...(admit && { admit: (request) => runPhase(guard, 'admit', request.client, () => admit(request)) }),
    ...(decide && {
      // The cast is safe: it is the exchange of the later phases.
      decide: (exchange) =>
        runExchangePhase(guard, 'decide', exchange as ReplyingExchange, () => decide(exchange)),
    }),
    ...(confirm && {
      confirm: (exchange) => runPhase(guard, 'confirm', exchange.client, () => confirm(exchange)),
    }),
    ...(reply && { reply: guardReply(reply, guard) }),
    ...(inspect && { inspect: guardInspect(inspect, guard) }),
    ...(confirmReply && { confirmReply: guardConfirmReply(confirmReply, guard) }),
    ...(rejected && { rejected: guardRejected(rejected, guard) }),
    ...(middleware && { middleware: guardMiddleware(middleware, guard) }),
    ...(observe && { observe: guardObserver(observe, guard) }),
    ...(close && { close: () => runAsPlugin(guard.title, close) }),
    ...(endpoints && { endpoints: endpoints.map((each) => guardEndpoint(each, guard)) }),
    ...(conditions && { conditions: conditions.map((each) => guardCondition(each, guard)) }),
    ...(actions && { actions: actions.map((each) => guardAction(each, guard)) }),
    ...(providers && { providers: providers.map((each) => guardAdapter(toAdapter(each), guard)) }),
  }
}

/** Plugins may return an instance of a class, whose methods and getters a spread would leave behind. */
function bindParts(parts: PluginParts): PluginParts {
  const bound = PLUGIN_PARTS.map((name) => {
    const part: unknown = parts[name]
    if (typeof part !== 'function') return [name, part] as const
    const call = (shown: SharedFields | undefined, ...rest: unknown[]): unknown => {
      if (shown !== undefined) freezeShared(shown)
      return part.call(parts, shown, ...rest)
    }
    return [name, call] as const
  })
  return Object.fromEntries(bound.filter(([, part]) => part !== undefined))
}

type NotifyRejected = NonNullable<PluginParts['rejected']>

function guardConfirmReply(
  confirmReply: NonNullable<PluginParts['confirmReply']>,
  guard: PluginGuard,
): NonNullable<PluginParts['confirmReply']> {
  const inspect = guardInspect(confirmReply, guard)
  return (exchange) => [inspect(exchange) ?? []].flat()[0]
}

/** The client gets the error that the request was rejected with, and the other plugins are notified. */
function guardRejected(rejected: NotifyRejected, guard: PluginGuard): NotifyRejected {
  return async (exchange, error) => {
    try {
      await runExchangePhase(guard, 'rejected', exchange, () => rejected(exchange, error))
    } catch (err) {
      guard.logger.error({ err, requestId: exchange.id }, `${guard.title} failed in rejected`)
    }
  }
}

/** Returns a function that undoes changes: the observers that record and count the request come later. */
function keepFields(request: EndedRequest): () => void {
  const { exchange } = request
  const [fields, fieldsOfExchange] = [{ ...request }, { ...exchange }]
  return () => {
    Object.assign(request, fields)
    if (exchange !== undefined && !Object.isFrozen(exchange)) Object.assign(exchange, fieldsOfExchange)
  }
}

/** An async observer, whose errors nobody else would handle. */
function guardObserver(observe: RequestObserver, guard: PluginGuard): RequestObserver {
  const { title, logger } = guard
  return (request) => {
    const fail = (thrown: unknown) => {
      const err = toError(thrown, guard, 'observe')
      logger.error({ err, requestId: request.id }, `${title} failed in observe`)
    }
    try {
      const restore = keepFields(request)
      const result: unknown = runAsPlugin(title, () => observe(request))
      restore()
      if (isPromiseLike(result)) Promise.resolve(result).catch(fail)
    } catch (thrown) {
      fail(thrown)
    }
  }
}

/**
 * Koa middleware that does not wait for `next()` is common: the response waits for it nevertheless. Adds as
 * little as possible, because all requests pass it.
 */
function guardMiddleware(middleware: GatewayMiddleware, guard: PluginGuard): GatewayMiddleware {
  const { title } = guard
  return async (ctx, next) => {
    let inner: Promise<unknown> | undefined
    let isPending = false
    const settle = () => {
      isPending = false
    }
    const callNext = () => {
      if (inner !== undefined)
        return handled(Promise.reject(new Error(`${title} called next() more than once`)))
      isPending = true
      inner = runAsGateway(next)
      inner.then(settle, settle)
      return inner
    }
    try {
      await runAsPlugin(title, () => middleware(ctx, callNext))
    } catch (thrown) {
      // What the gateway has thrown behind next() passes as well.
      throw thrown instanceof Error ? thrown : toError(thrown, guard, 'middleware')
    }
    if (isPending && ctx.status === 404 && ctx.respond !== false) await inner
  }
}
