import { EventLogUnavailableError } from '../contract/index.ts'

/**
 * Resolves or rejects like the promise. Rejects with `createError()` if the promise is still pending after
 * `timeoutMs` milliseconds. The operation behind the promise is not cancelled; its later result is ignored.
 */
export async function withTimeout<Value>(
  promise: Promise<Value>,
  timeoutMs: number,
  createError: () => Error,
): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(createError()), timeoutMs)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** A time limit is counted in so many steps. */
const STEPS = 20

/**
 * Passes a task a signal that aborts after `limitMs` milliseconds, with a `TimeoutError`. A step during which
 * the event loop was blocked counts once, however long it took: what has arrived meanwhile is received before
 * the limit ends.
 */
export async function withinLimit<Value>(
  limitMs: number,
  task: (limit: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const controller = new AbortController()
  let left = STEPS
  const timer = setInterval(() => {
    left -= 1
    if (left === 0) controller.abort(new DOMException('The time limit was exceeded', 'TimeoutError'))
  }, limitMs / STEPS)
  try {
    return await task(controller.signal)
  } finally {
    clearInterval(timer)
  }
}

/**
 * Resolves or rejects like the promise. Rejects with the signal's reason if the signal aborts first, or has
 * already. The operation behind the promise is not cancelled; its later result is ignored.
 */
export async function untilAborted<Value>(promise: Promise<Value>, signal?: AbortSignal): Promise<Value> {
  if (signal === undefined) return promise
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
  })
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort)
  try {
    return await Promise.race([aborted, promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** A change is answered within this time, whatever it waits for. */
const CHANGE_TIMEOUT_MS = 9500

/**
 * Resolves or rejects like the change. Rejects with `EventLogUnavailableError` if it takes longer than a
 * caller may wait: a change can wait for other changes, a reservation of ids, two attempts and all workers.
 */
export function answerInTime<Result>(change: Promise<Result>): Promise<Result> {
  return withTimeout(change, CHANGE_TIMEOUT_MS, () => {
    const message = 'the change was not completed in time'
    return new EventLogUnavailableError(message, { outcomeUnknown: true })
  })
}
