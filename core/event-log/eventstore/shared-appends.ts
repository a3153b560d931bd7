import { type Appender, type AppendPipeline, openAppendPipeline } from './append-pipeline.ts'
import type { ClientInternals } from './client-internals.ts'

/**
 * How long a call takes new appends, in milliseconds. A server checks the credentials of a call at its start
 * only, so this is how long it may accept appends of a user whose password was changed.
 */
const MAX_CALL_AGE_MS = 250

/**
 * Sends concurrent appends over one call, because a call of its own costs an append ten times the CPU time on
 * both sides. Opens the call with the first append, and another one after it has failed or become too old.
 */
export function createSharedAppends(internals: ClientInternals, timeoutMs: number): Appender {
  const open = new Set<AppendPipeline>()
  let current: Promise<AppendPipeline> | undefined

  function openCall(): Promise<AppendPipeline> {
    const opened = openAppendPipeline(internals, timeoutMs)
    const retire = () => {
      if (current === opened) current = undefined
    }
    current = opened
    opened.then((pipeline) => {
      open.add(pipeline)
      const timer = setTimeout(() => {
        retire()
        pipeline.drain()
      }, MAX_CALL_AGE_MS).unref()
      void pipeline.failed.then(() => {
        clearTimeout(timer)
        open.delete(pipeline)
        retire()
        // A call that stays open keeps the connection, which the client has left.
        pipeline.drain()
      })
    }, retire)
    return opened
  }

  return {
    async append(stream, events, expected) {
      const pipeline = await (current ?? openCall())
      return pipeline.append(stream, events, expected)
    },
    close() {
      for (const pipeline of open) pipeline.close()
    },
  }
}
