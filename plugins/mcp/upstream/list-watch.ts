import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { errorName } from '../../../core/util/error-message.ts'
import { readMessage } from './envelope.ts'
import type { PostResponse } from './http-request.ts'
import { LIST_KINDS, type ListKind, type UpstreamContext } from './upstream.ts'

const FIRST_DELAY_MS = 1000
const MAX_DELAY_MS = 60_000
const MAX_NOTICE_BYTES = 64 * 1024

type Listener = (kind: ListKind) => void

interface ListWatchOptions {
  readonly name: string
  readonly logger: Logger
  /** Opens the stream on which the server sends notices. */
  open(context: UpstreamContext, signal: AbortSignal): Promise<PostResponse>
}

export function listKindOf(method: string): ListKind | undefined {
  return LIST_KINDS.find((kind) => method === `notifications/${kind}/list_changed`)
}

/** Listens to a server for changes of its lists while there are listeners, and connects again if it ends. */
export function createListWatch({ name, logger, open }: ListWatchOptions) {
  const listeners = new Set<Listener>()
  let controller: AbortController | undefined

  async function run(signal: AbortSignal): Promise<void> {
    const session = { key: 'notices', capabilities: {} }
    const context = { caller: { userId: 0 }, session, capabilities: {}, signal }
    let delayMs = FIRST_DELAY_MS
    while (!signal.aborted) {
      try {
        const response = await open(context, signal)
        if (response.head.status === 405 || response.head.status === 404) return response.finish()
        for (let bytes = await response.next(); bytes !== undefined; bytes = await response.next()) {
          const message = await readMessage(bytes, MAX_NOTICE_BYTES)
          delayMs = FIRST_DELAY_MS
          const kind = message?.type === 'notification' ? listKindOf(message.method) : undefined
          if (kind !== undefined) for (const listener of listeners) listener(kind)
          if (message?.type === 'reply') break
        }
        response.finish()
      } catch (error) {
        if (!signal.aborted)
          logger.debug({ server: name, reason: errorName(error) }, 'notices of a tool server ended')
      }
      await setTimeout(delayMs, undefined, { signal, ref: false }).catch(() => undefined)
      delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)
    }
  }

  return {
    add(listener: Listener): () => void {
      listeners.add(listener)
      if (controller === undefined) {
        controller = new AbortController()
        void run(controller.signal)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        controller?.abort()
        controller = undefined
      }
    },
    close(): void {
      listeners.clear()
      controller?.abort()
    },
  }
}
