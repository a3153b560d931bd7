import {
  type Dialect,
  type EndedExchange,
  type GatewayContext,
  type Host,
  type MaybePromise,
  type PluginParts,
  type RepliedExchange,
  type Reply,
  ReplyEvent,
  type ReplyTransform,
} from '../contract/index.ts'
import { createResponseSender, type KeepAlives } from '../http/send-response.ts'
import type { Step } from '../http/steps.ts'
import { chain, isPromiseLike } from '../util/maybe-promise.ts'
import type { PluginStep } from './load.ts'
import { readReply } from './read-reply.ts'

/** The exchange while its reply is being produced. */
export type OpenExchange = EndedExchange & {
  reply?: Reply
  /** The reply is being sent, or the request has failed. */
  isAnswered?: true
  decidedAt?: number | undefined
}

/**
 * Records the cost of a request that failed before its reply was sent, and notifies the plugins. Resolves
 * with the error for the client, which a built-in plugin may replace by throwing another one.
 */
export type RecordFailure = (ctx: GatewayContext, exchange: OpenExchange, thrown: unknown) => Promise<unknown>

export interface ResponderParts {
  readonly steps: readonly PluginStep[]
  readonly costOf: Host['costOf']
  readonly keepAlives: KeepAlives
}

/**
 * Waits for the reply, creates the transforms of the plugins for it, and sends it in the client's format. The
 * stream of a client that has waited for long is opened before the reply: see docs/decisions/http.md, "A
 * stream that waits is opened with 200".
 */
export function respond(
  dialect: Dialect,
  { steps, costOf, keepAlives }: ResponderParts,
  produce: (exchange: OpenExchange) => Promise<Reply>,
  recordFailure: RecordFailure,
): Step {
  const inspectors = steps
    .map(({ parts }) => parts)
    .filter(({ inspect, confirmReply }) => inspect !== undefined || confirmReply !== undefined)
  const { keepAlive = SSE_COMMENT } = dialect
  const sender = createResponseSender(keepAlives, { ...dialect, keepAlive })

  function write(ctx: GatewayContext, exchange: RepliedExchange): MaybePromise<void> {
    if (exchange.decoration !== undefined)
      for (const [name, value] of exchange.decoration.headers) ctx.res.setDefaultHeader(name, value)
    if (exchange.reply.type === 'stream') sender.sendStream(ctx, dialect.writeStream(exchange, ctx))
    else return chain(dialect.writeWhole(exchange, ctx), (body) => sender.sendWhole(ctx, body))
  }

  return (ctx) => {
    const { exchange } = ctx
    // WebSocket connections have pings of their own.
    if (exchange.request.stream !== true || ctx.client.session !== undefined)
      return produce(exchange).then((reply) => {
        const replied = inspectReply(exchange, reply, inspectors, costOf)
        return isPromiseLike(replied) ? replied.then((each) => write(ctx, each)) : write(ctx, replied)
      })
    const replied = produce(exchange).then((reply) => inspectReply(exchange, reply, inspectors, costOf))
    return new Promise((resolve, reject) => {
      let isLate = false
      const onSilence = () => {
        isLate = true
        watched.end()
        const late = createLateStream(dialect, ctx, replied, (thrown) => recordFailure(ctx, exchange, thrown))
        ctx.lateReply = late.recorded
        resolve(sender.sendStream(ctx, late.records(keepAlive)))
      }
      const watched = keepAlives.watch(onSilence, performance.now() - ctx.startedAt)
      const onReply = (exchange: RepliedExchange) => {
        watched.end()
        return isLate ? undefined : write(ctx, exchange)
      }
      const onError = (error: unknown) => {
        watched.end()
        throw error
      }
      // Has no effect if the stream was opened before.
      replied.then(onReply, onError).then(resolve, reject)
    })
  }
}

const SSE_COMMENT = ': keep-alive\n\n'

type ReplyInspector = Pick<PluginParts, 'inspect' | 'confirmReply'>

/** A plugin may answer a request for a stream with a whole reply, and the other way round. */
function inspectReply(
  exchange: OpenExchange,
  given: Reply,
  inspectors: readonly ReplyInspector[],
  costOf: Host['costOf'],
): MaybePromise<RepliedExchange> {
  const wanted = exchange.request.stream === true ? 'stream' : 'whole'
  exchange.isAnswered = true
  return chain(toReplyType(given, wanted), (reply) => {
    exchange.reply = reply
    // It has a reply now.
    const replied = exchange as OpenExchange & { reply: Reply }
    const transforms = createTransforms(replied, inspectors)
    return chain(readReply(replied, reply, transforms, costOf), (inspected) => {
      replied.reply = inspected
      return replied
    })
  })
}

const NO_TRANSFORMS: readonly ReplyTransform[] = []

/** Most plugins have nothing to do with most replies. */
function createTransforms(
  exchange: RepliedExchange,
  inspectors: readonly ReplyInspector[],
): readonly ReplyTransform[] {
  let transforms = NO_TRANSFORMS
  /** The place of the last plugin that has some. */
  let last = -1
  inspectors.forEach(({ inspect }, place) => {
    const created = inspect?.(exchange)
    if (created === undefined) return
    transforms = transforms.concat(created)
    last = place
  })
  for (let place = 0; place < last; place++) {
    const created = inspectors[place]?.confirmReply?.(exchange)
    if (created !== undefined) transforms = transforms.concat(created)
  }
  return transforms
}

/** Returns the reply as a whole one or as a stream. */
function toReplyType(reply: Reply, type: Reply['type']): MaybePromise<Reply> {
  if (reply.type === type) return reply
  return reply.type === 'whole' ? { type: 'stream', batches: yieldOnce(reply.event) } : collect(reply.batches)
}

/** The provider's own record, which is that of a whole reply, is left out. */
async function* yieldOnce(event: ReplyEvent): AsyncIterable<readonly ReplyEvent[]> {
  yield [event.withParts(event.parts)]
}

async function collect(batches: AsyncIterable<readonly ReplyEvent[]>): Promise<Reply> {
  const events: ReplyEvent[] = []
  for await (const batch of batches) for (const event of batch) events.push(event)
  return { type: 'whole', event: new ReplyEvent(events.flatMap(({ parts }) => parts)) }
}

/** A stream that was opened before its reply arrived. */
interface LateStream {
  /** Resolves when the reply has arrived, or its failure is recorded. Never rejects. */
  readonly recorded: Promise<unknown>
  /** Yields a first text immediately, then the records of the reply or of its error. */
  records(first: string): AsyncIterable<string>
}

/** `recordFailure` resolves with the error for the client. */
function createLateStream(
  dialect: Dialect,
  ctx: GatewayContext,
  replied: Promise<RepliedExchange>,
  recordFailure: (thrown: unknown) => Promise<unknown>,
): LateStream {
  // Also if nobody reads the records.
  const recorded: Promise<Outcome> = replied
    .then(
      (exchange) => ({ exchange }),
      (thrown: unknown) => recordFailure(thrown).then(toFailure),
    )
    .catch(toFailure)

  function toFailure(error: unknown): Outcome {
    const reply = ctx.client.isAborted ? undefined : failingReply(error)
    return { exchange: reply && Object.assign(ctx.exchange, { reply }) }
  }

  return {
    recorded,
    async *records(first) {
      yield first
      const { exchange } = await recorded
      if (exchange !== undefined) yield* dialect.writeStream(exchange, ctx)
    },
  }
}

interface Outcome {
  /** Undefined if the client disconnected before the reply arrived. */
  readonly exchange: RepliedExchange | undefined
}

/** A stream that fails before its first event, so that the dialect writes the error. */
function failingReply(error: unknown): Reply {
  const next = () => Promise.reject(error)
  return { type: 'stream', batches: { [Symbol.asyncIterator]: () => ({ next }) } }
}
