import { Readable } from 'node:stream'
import type { GatewayContext } from '../contract/index.ts'

/** Answers with SSE: texts of one or more whole records, pulled at the client's pace and written at once. */
export function sendStream(ctx: GatewayContext, records: AsyncIterable<string>): void {
  ctx.status = 200
  ctx.set('content-type', 'text/event-stream; charset=utf-8')
  ctx.set('cache-control', 'no-store, no-transform')
  ctx.set('x-accel-buffering', 'no')
  ctx.body = Readable.from(records, { objectMode: false, highWaterMark: 16 * 1024 })
}
