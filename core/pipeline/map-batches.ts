import type { MaybePromise, ReplyEvent } from '../contract/index.ts'

/** Calls `next` of a stream and waits for its result. */
export type WaitForBatch = <Value>(next: () => Promise<Value>) => MaybePromise<Value>

/**
 * Passes the batches of a stream through a function when they arrive. Not a generator: one that was not
 * started would not pass `return` on to the source.
 */
export function mapBatches<Value>(
  batches: AsyncIterable<Value>,
  map: (batch: Value) => readonly ReplyEvent[],
  wait: WaitForBatch = (next) => next(),
): AsyncIterable<readonly ReplyEvent[]> {
  return {
    [Symbol.asyncIterator]() {
      const source = batches[Symbol.asyncIterator]()
      return {
        async next() {
          const result = await wait(() => source.next())
          return result.done ? { done: true, value: undefined } : { done: false, value: map(result.value) }
        },
        async return() {
          await source.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}
