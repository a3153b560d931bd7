import { setTimeout } from 'node:timers/promises'
import { currentThreadId, readThreadCpuMs } from '../../core/threads/thread-cpu.ts'

/**
 * Returns the result, and the longest CPU time in ms that a turn of the event loop took meanwhile: on a busy
 * machine, elapsed time says little.
 */
export async function measureLongestTask<Result>(
  run: () => Result | Promise<Result>,
): Promise<[Result, number]> {
  const threadId = currentThreadId()
  let last = readThreadCpuMs(threadId)
  let longestMs = 0
  const timer = setInterval(() => {
    const now = readThreadCpuMs(threadId)
    longestMs = Math.max(longestMs, now - last)
    last = now
  }, 1)
  const result = await run()
  await setTimeout(10)
  clearInterval(timer)
  return [result, longestMs]
}
