import { Stream, type Writable } from 'node:stream'
import type { GatewayContext } from '../contract/index.ts'

/**
 * Sets an SSE stream as the response body. Each text holds one or more complete records. Texts are pulled
 * with backpressure and written immediately.
 */
export function sendEventStream(ctx: GatewayContext, records: AsyncIterable<string>): void {
  ctx.status = 200
  ctx.set('content-type', 'text/event-stream; charset=utf-8')
  ctx.set('cache-control', 'no-store, no-transform')
  ctx.set('x-accel-buffering', 'no')
  ctx.body = new SseBody(records[Symbol.asyncIterator]())
}

/**
 * Starts streaming the SSE body, unless other middleware has replaced it. Call it after the middleware chain
 * has ended. The body bypasses Koa, which would use a stream pipeline: its end is an abort, which creates two
 * errors with stack traces for every stream.
 */
export function startStreaming(ctx: GatewayContext): void {
  const { body, writable } = ctx.response
  if (!(body instanceof SseBody) || !writable) return
  ctx.respond = false
  body.pipe(ctx.res)
}

/** A minimal stream that Koa accepts as a body: `pipe` and `destroy` only. A `Readable` is expensive. */
class SseBody extends Stream {
  readonly #records: AsyncIterator<string>

  constructor(records: AsyncIterator<string>) {
    super()
    this.#records = records
  }

  override pipe<Target extends NodeJS.WritableStream>(target: Target): Target {
    // The cast is safe: targets are HTTP responses and Node.js streams in between.
    const writable = target as unknown as Writable
    this.#pump(writable).catch((error) => {
      this.emit('error', error)
      writable.destroy()
    })
    return target
  }

  /** Releases the source, and with it the provider connection. Koa calls it whenever the response ends. */
  destroy(): void {
    void this.#records.return?.()
  }

  async #pump(target: Writable): Promise<void> {
    for (let next = await this.#records.next(); !next.done; next = await this.#records.next()) {
      if (target.destroyed) return
      if (!target.write(next.value)) await drainOrClose(target)
    }
    target.end()
  }
}

/** Resolves once the target accepts more data or is closed. */
function drainOrClose(target: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      target.off('drain', done)
      target.off('close', done)
      resolve()
    }
    target.once('drain', done)
    target.once('close', done)
  })
}
