import { once } from 'node:events'
/** What the promise gives, unless the signal aborts before: then its reason is thrown. */
export async function untilAborted<Value>(promise: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (signal === undefined) return promise
  signal.throwIfAborted()
  const settled = new AbortController()
  const aborted = once(signal, 'abort', { signal: settled.signal }).then(() => Promise.reject(signal.reason))
  try {
    return await Promise.race([promise, aborted])
  } finally {
    settled.abort()
    aborted.catch(() => undefined)
  }
}
