import type { JsonValue, RecordStore } from '../../../core/contract/index.ts'

const POLL_MS = 250
const KEEP_S = 120

/**
 * Hands messages to a request that waits for them, in this process or in another one. Names are unguessable,
 * or belong to a session.
 */
export function createMailbox(
  store: Pick<RecordStore, 'get' | 'set' | 'delete'>,
  hasOtherProcesses: boolean,
) {
  const waiting = new Map<string, (value: unknown) => void>()
  const recordOf = (name: string) => `mail:${name}`

  return {
    hasOtherProcesses,
    async put(name: string, value: JsonValue): Promise<void> {
      const deliver = waiting.get(name)
      if (deliver !== undefined) deliver(value)
      else if (hasOtherProcesses) await store.set(recordOf(name), value, KEEP_S)
    },
    /** Resolves to the message. Rejects with the reason of the signal. */
    take(name: string, signal: AbortSignal, pollMs = POLL_MS): Promise<unknown> {
      return new Promise((resolve, reject) => {
        let timer: NodeJS.Timeout | undefined
        const end = () => {
          clearInterval(timer)
          waiting.delete(name)
          signal.removeEventListener('abort', onAbort)
        }
        const onAbort = () => {
          end()
          reject(signal.reason)
        }
        waiting.set(name, (value) => {
          end()
          resolve(value)
        })
        if (signal.aborted) return onAbort()
        signal.addEventListener('abort', onAbort)
        if (!hasOtherProcesses) return
        timer = setInterval(async () => {
          const value = await store.get(recordOf(name)).catch(() => undefined)
          if (value === undefined || !waiting.has(name)) return
          await store.delete(recordOf(name)).catch(() => undefined)
          waiting.get(name)?.(value)
        }, pollMs).unref()
      })
    },
  }
}

export type Mailbox = ReturnType<typeof createMailbox>
