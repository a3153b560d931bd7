import type {
  Action,
  Condition,
  EndedRequest,
  Endpoint,
  EndpointResponse,
  GatewayMiddleware,
  Matcher,
  PluginParts,
  ReplyingExchange,
  RequestObserver,
  RoutingInput,
} from '../contract/index.ts'
import { checkHeader } from '../http/server/default-headers.ts'
import { freezeJson } from '../util/json.ts'
import { isPromiseLike } from '../util/maybe-promise.ts'
import { runAsGateway, runAsPlugin } from '../util/plugin-context.ts'
import { describeType, handled } from './check-reply.ts'
import {
  freezeShared,
  type PluginGuard,
  parseWarning,
  runExchangePhase,
  runPhase,
  runSync,
  type SharedFields,
  toError,
} from './guard-phase.ts'
import { guardAdapter, guardInspect, guardReply } from './guard-reply.ts'
import { PLUGIN_PARTS } from './parse-plugin-parts.ts'
import type { AdapterRegistry } from './registries.ts'

/** Wraps an endpoint of a plugin package: it must answer in time, and what can be sent. */
function guardEndpoint(endpoint: Endpoint, guard: PluginGuard): Endpoint {
  const { textBody } = endpoint
  const phase = `${endpoint.method} ${endpoint.path}`
  const run = (call: { readonly client: Parameters<typeof runPhase>[2] }, answer: () => unknown) =>
    Promise.resolve(runPhase(guard, phase, call.client, answer)).then((response) =>
      checkResponse(response, endpoint, guard),
    )
  return {
    ...endpoint,
    handle: (call) => {
      freezeShared(call)
      return run(call, () => endpoint.handle(call))
    },
    // Its body may arrive for hours.
    ...(textBody && {
      textBody: {
        ...textBody,
        handle: async (call) => checkResponse(await textBody.handle(call), endpoint, guard),
      },
    }),
  }
}

function checkResponse(value: unknown, endpoint: Endpoint, guard: PluginGuard): EndpointResponse {
  try {
    return parseResponse(value, endpoint)
  } catch (error) {
    const { message } = error as Error
    throw new TypeError(`${guard.title} answered ${endpoint.method} ${endpoint.path} with ${message}`)
  }
}

function parseResponse(value: unknown, { responses }: Endpoint): EndpointResponse {
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`${describeType(value)} in place of a response`)
  const response = value as EndpointResponse
  const { status, headers = {}, body, json, stream } = response
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError('a status that is not a whole number from 200 to 599')
  for (const [name, text] of Object.entries(headers)) checkHeader(name, text)
  const described = responses[status]
  const hasContent = body !== undefined || json !== undefined || stream !== undefined
  if (!hasContent && (described?.body ?? described?.events ?? described?.text) !== undefined)
    throw new TypeError(`no body, which its responses declare for the status ${status}`)
  if (json !== undefined && !(json instanceof Uint8Array))
    throw new TypeError('json that is not a Uint8Array')
  if (stream !== undefined && typeof stream?.[Symbol.asyncIterator] !== 'function')
    throw new TypeError('a stream that is not an async iterable')
  return { status, headers, body, ...(json && { json }), ...(stream && { stream }) }
}

/**
 * Wraps a condition of a plugin package, so that what it throws names it. What then becomes of the rule
 * decides who evaluates it.
 */
function guardCondition(condition: Condition, guard: PluginGuard): Condition {
  const title = `the condition "${condition.name}"`
  const run = <Value>(call: () => Value) => runSync(guard, title, call)
  const own = guardOperator(condition, run)
  if (!('matcher' in condition)) {
    return {
      ...own,
      literals: (value) => run(() => checkTexts(condition.literals(value))),
    }
  }
  const { headers: names = [] } = condition
  const pickHeaders = (headers: RoutingInput['headers']) =>
    Object.fromEntries(names.map((name) => [name, headers[name]]))
  return {
    ...own,
    matcher(value) {
      const matches = run(() => checkMatcher(condition.matcher(value)))
      return (input) => {
        freezeJson(input.request)
        freezeShared(input)
        return Boolean(run(() => matches({ ...input, headers: pickHeaders(input.headers) })))
      }
    },
  }
}

function checkMatcher(matches: unknown): Matcher {
  if (typeof matches === 'function') return matches as Matcher
  throw new TypeError(`matcher returned ${describeType(matches)} in place of a function`)
}

function checkTexts(texts: unknown): readonly string[] {
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts
  throw new TypeError('literals did not return a list of texts')
}

/** Wraps an action of a plugin package, likewise. */
function guardAction(action: Action, guard: PluginGuard): Action {
  const run = <Value>(call: () => Value) => runSync(guard, `the action "${action.name}"`, call)
  const { choose } = action
  return {
    ...guardOperator(action, run),
    ...(choose && {
      choose: (value, input, ruleId) =>
        run(() => {
          const choice = choose.call(action, value, input, ruleId)
          const text = 'skipped' in choice ? choice.skipped : (choice.arm ?? '')
          if (typeof text !== 'string') throw new TypeError('choose did not return a choice')
          return choice
        }),
    }),
    apply: (value, draft) =>
      run(() => {
        const { request, warnings, requirements } = draft
        const required = [...requirements]
        freezeJson(required)
        const count = warnings.length
        freezeJson(request)
        try {
          const result: unknown = action.apply(value, draft)
          if (isPromiseLike(result)) throw new TypeError(`apply returned ${describeType(result)}`)
        } catch (error) {
          draft.request = request
          warnings.splice(count)
          throw error
        }
        warnings.push(...warnings.splice(count).map(parseWarning))
        if (required.some((each, index) => draft.requirements[index] !== each)) {
          Object.assign(draft, { requirements: [...required] })
          throw new TypeError('apply removed a requirement')
        }
        freezeJson(draft.request)
        if (Array.isArray(draft.request?.messages)) return
        draft.request = request
        throw new TypeError('apply left no request with messages')
      }),
  }
}

function guardOperator<Operator extends Condition | Action>(
  operator: Operator,
  run: <Value>(call: () => Value) => Value,
): Operator {
  const names = ['normalize', 'findIssue', 'lint'] as const
  const functions = names.flatMap((name) => {
    const own = (operator as unknown as Record<string, unknown>)[name]
    if (typeof own !== 'function') return []
    return [[name, (value: unknown) => run(() => own.call(operator, value))] as const]
  })
  return { ...operator, ...Object.fromEntries(functions) }
}

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
      confirm: (exchange) => {
        freezeJson(exchange.request)
        return runPhase(guard, 'confirm', exchange.client, () => confirm(exchange))
      },
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
