import type { WaitingTime } from '../contract/index.ts'

/** Resolves or rejects like the promise. The time until then is not that of the gateway itself. */
export async function whileWaiting<Value>(
  waiting: WaitingTime | undefined,
  promise: Promise<Value>,
): Promise<Value> {
  waiting?.begin()
  try {
    return await promise
  } finally {
    waiting?.end()
  }
}
