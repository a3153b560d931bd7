import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import type { Logger } from 'pino'

const CHECK_INTERVAL_MS = 1000

/** How many descriptors must be free again before the shortage counts as over. */
const FREE_DESCRIPTORS = 16

/**
 * Logs when this process has no file descriptor left, and when it has some again. Without one, libuv accepts
 * connections and closes them, and reports nothing. Returns a function that ends the checks.
 */
export function watchDescriptors(logger: Logger): () => void {
  let isExhausted = false
  const check = () => {
    const wasExhausted = isExhausted
    isExhausted = !canOpen(wasExhausted ? FREE_DESCRIPTORS : 1)
    if (isExhausted && !wasExhausted)
      logger.error('file descriptors exhausted; new connections are closed. Raise the limit (ulimit -n)')
    if (!isExhausted && wasExhausted) logger.info('file descriptors available again')
  }
  const timer = setInterval(check, CHECK_INTERVAL_MS).unref()
  return () => clearInterval(timer)
}

/** Opens this many files and closes them again. False if the process or the system has no descriptor left. */
function canOpen(count: number): boolean {
  const opened: number[] = []
  try {
    for (let n = 0; n < count; n++) opened.push(openSync(devNull, 'r'))
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && SHORTAGES.has(error.code))
  } finally {
    for (const fd of opened) closeSync(fd)
  }
}

const SHORTAGES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])
