import type { Dialect, GatewayContext, RepliedExchange, Reply } from '../contract/index.ts'

/** A stream that was opened before its reply arrived. */
interface LateStream {
  /** Resolves when the reply has arrived, or its failure is recorded. Never rejects. */
  readonly recorded: Promise<unknown>
  /** Yields a first text immediately, then the records of the reply or of its error. */
  records(first: string): AsyncIterable<string>
}

/** `recordFailure` resolves with the error for the client. */
export function createLateStream(
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
