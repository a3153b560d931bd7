import type { Reply } from '../contract/index.ts'

/** Releases the provider connection of a stream that nobody will read. */
export function releaseReply(reply: Reply): void {
  if (reply.type === 'stream') releaseIterator(reply.batches[Symbol.asyncIterator]())
}

/** Stops a source of events. Its errors concern nobody any more. */
export function releaseIterator(iterator: AsyncIterator<unknown>): void {
  Promise.resolve(iterator.return?.()).catch(() => undefined)
}
