import { Stream, type Writable } from 'node:stream'
import type { GatewayContext } from '../contract/index.ts'

/** Answers with SSE: texts of one or more whole records, pulled at the client's pace and written at once. */
export function sendEventStream(ctx: GatewayContext, records: AsyncIterable<string>): void {
  ctx.status = 200
  ctx.set('content-type', 'text/event-stream; charset=utf-8')
  ctx.set('cache-control', 'no-store, no-transform')
  ctx.set('x-accel-buffering', 'no')
  ctx.body = new SseBody(records[Symbol.asyncIterator]())
}

/**
 * To be called when the chain has ended: lets the records flow, unless somebody has put another body in their place. Koa would put a
 * pipeline around them, whose end is an abort: two errors with their stacks, for every stream.
 */
export function startStreaming(ctx: GatewayContext): void {
  const { body, writable } = ctx.response
  if (!(body instanceof SseBody) || !writable) return
  ctx.respond = false
  body.pipe(ctx.res)
}

/** A stream as Koa wants one, which can only be piped and destroyed: all else that a `Readable` does is dear. */
class SseBody extends Stream {
  readonly #records: AsyncIterator<string>

  constructor(records: AsyncIterator<string>) {
    super()
    this.#records = records
  }

  override pipe<Target extends NodeJS.WritableStream>(target: Target): Target {
    // The cast is safe: what is piped to are responses, and streams of Node that go between.
    const writable = target as unknown as Writable
    this.#pump(writable).catch((error) => {
      this.emit('error', error)
      writable.destroy()
    })
    return target
  }

  /** Gives the source up, and with it the provider's connection. Koa calls it when the answer has ended, however it did. */
  destroy(): void {
    void this.#records.return?.()
  }

  async #pump(target: Writable): Promise<void> {
    for (let next = await this.#records.next(); !next.done; next = await this.#records.next()) {
      if (target.destroyed) return
      if (!target.write(next.value)) await drained(target)
    }
    target.end()
  }
}

/** Resolves when there is room again, or nobody left for whom to make some. */
function drained(target: Writable): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      target.off('drain', stop)
      target.off('close', stop)
      resolve()
    }
    target.once('drain', stop)
    target.once('close', stop)
  })
}
