import type {
  MaybePromise,
  OperationFormat,
  PluginParts,
  ProviderAdapter,
  ProviderRequest,
  Reply,
  ReplyEvent,
  ReplyTransform,
  StreamReader,
} from '../contract/index.ts'
import { checkHeader } from '../http/server/default-headers.ts'
import { freezeJson } from '../util/json.ts'
import { chain } from '../util/maybe-promise.ts'
import { runAsGateway, runAsPlugin } from '../util/plugin-context.ts'
import { checkEvents, checkReply, describeType, freezeEvent, freezeReply, handled } from './check-reply.ts'
import {
  createPhaseTimer,
  type PluginGuard,
  runExchangePhase,
  runPhase,
  runSync,
  watchCallHeaders,
} from './guard-phase.ts'
import { releaseReply } from './read-reply.ts'

type AnswerRequest = NonNullable<PluginParts['reply']>

/**
 * Wraps `reply` of a plugin package: it may call `next` once and must return a reply. The reply of `next` is
 * released if the plugin does not return it. The time for `next` and its stream, which have timeouts of their
 * own, is not that of the plugin.
 */
export function guardReply(reply: AnswerRequest, guard: PluginGuard): AnswerRequest {
  return (exchange, next) => {
    const { client } = exchange
    const timer = createPhaseTimer(guard, 'reply', client)
    let inner: Promise<Reply> | undefined
    let received: { readonly reply: Reply; readonly shown: Reply } | undefined
    let isEnded = false
    const checkHeaders = watchCallHeaders(exchange, guard)

    function callNext(): Promise<Reply> {
      if (inner !== undefined || isEnded) {
        const issue = inner === undefined ? 'after reply had ended' : 'more than once, in reply'
        return handled(Promise.reject(new Error(`${guard.title} called next() ${issue}`)))
      }
      checkHeaders()
      freezeJson(exchange.request)
      inner = timer
        .exclude(() => runAsGateway(next))
        .then((reply) => {
          received = { reply, shown: freezeReply(reply, (nextBatch) => timer.exclude(nextBatch)) }
          if (isEnded) releaseReply(reply)
          return received.shown
        })
      return handled(inner)
    }

    function check(result: Reply): Reply {
      if (received !== undefined) {
        const { reply, shown } = received
        if (result === shown) return reply
        client.onClose(() => releaseReply(reply))
      }
      return checkReply(result, `the reply of ${guard.title}`, (nextBatch) =>
        runPhase(guard, 'reply', client, nextBatch, timer),
      )
    }

    const answer = async () => check(await reply(exchange, callNext))
    return Promise.resolve(runExchangePhase(guard, 'reply', exchange, answer, timer)).finally(() => {
      isEnded = true
    })
  }
}

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

/**
 * Wraps an adapter of a plugin package: requests that cannot be sent, and replies that are none, fail with an
 * error that names the plugin, and do not count as failures of the provider.
 */
export function guardAdapter(adapter: ProviderAdapter, guard: PluginGuard): ProviderAdapter {
  const { format, operations, parseError, authorize, frames } = adapter
  const run = <Value>(name: string, call: () => Value) =>
    runSync(guard, `${name} of the wire format "${format}"`, call)
  const guardFormat = <Format extends OperationFormat>(own: Format) => ({
    buildRequest: ((request, target) =>
      run('buildRequest', () => checkRequest(own.buildRequest(request, target)))) as Format['buildRequest'],
    parseReply: ((body: never, request: never) =>
      run('parseReply', () => {
        const event = own.parseReply(body, request)
        checkEvents([event], `a reply of ${guard.title}`)
        return event
      })) as Format['parseReply'],
  })
  // Adapters may be instances of a class.
  return Object.assign(Object.create(adapter) as ProviderAdapter, {
    ...guardFormat(adapter as OperationFormat),
    buildAuthHeaders: (apiKey: string) => adapter.buildAuthHeaders(apiKey),
    createStreamReader: (request: Parameters<ProviderAdapter['createStreamReader']>[0]) =>
      guardReader(
        run('createStreamReader', () => adapter.createStreamReader(request)),
        guard,
        run,
      ),
    ...(authorize && {
      authorize: (...call: Parameters<typeof authorize>) =>
        runAsPlugin(guard.title, () => authorize.apply(adapter, call)),
    }),
    ...(typeof frames === 'object' && {
      frames: { createReader: () => run('createReader', () => frames.createReader()) },
    }),
    ...(parseError && {
      parseError: (failure: Parameters<typeof parseError>[0]) =>
        run('parseError', () => parseError.call(adapter, failure)),
    }),
    ...(operations && {
      operations: Object.fromEntries(
        Object.entries(operations).map(([name, own]) => [name, { ...own, ...guardFormat(own) }]),
      ),
    }),
  })
}

function guardReader(
  reader: StreamReader,
  guard: PluginGuard,
  run: <Value>(name: string, call: () => Value) => Value,
): StreamReader {
  const title = `a stream of ${guard.title}`
  const { isDone } = reader
  return {
    read: (event) => run('read', () => checkEvents(reader.read(event), title)),
    end: () => run('end', () => checkEvents(reader.end(), title)),
    ...(isDone && { isDone: () => isDone.call(reader) }),
  }
}

function checkRequest(request: ProviderRequest): ProviderRequest {
  const { path, headers, body, omitted } = request
  const hasBody = typeof body === 'string' || Buffer.isBuffer(body)
  if (typeof path !== 'string' || !hasBody || !Array.isArray(omitted))
    throw new TypeError(`it returned ${describeType(request)} without a path, a body or omitted`)
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value)
  return request
}
