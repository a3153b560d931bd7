import type { EndpointResponse } from '../../../core/contract/index.ts'
import type { ToolCatalog } from '../catalog.ts'
import type { ServerLists } from '../lists.ts'
import type { ListKind } from '../upstream/upstream.ts'
import type { ClientContext } from './client-context.ts'

const KEEP_ALIVE_MS = 10_000

interface NoticeServices {
  readonly lists: Pick<ServerLists, 'onChanged' | 'watch'>
  readonly catalog: Pick<ToolCatalog, 'onChanged'>
  /** Aborts when the gateway begins to stop: a stream without an end would hold that up. */
  readonly stopping: AbortSignal
}

interface NoticeOptions {
  readonly kinds: ReadonlySet<ListKind>
  /** Sent first, as JSON. */
  readonly first?: string
  /** The JSON of a notice. */
  format(kind: ListKind): string
  /** Called now and then. Rejects if the client may not listen any more. */
  confirm(): Promise<unknown>
}

/** Responds with a stream that says which lists have changed, until the client disconnects. */
export function streamNotices(
  { lists, catalog, stopping }: NoticeServices,
  { servers, client }: ClientContext,
  { kinds, first, format, confirm }: NoticeOptions,
): EndpointResponse {
  const names = new Set(servers.map(({ name }) => name))
  const changed = new Set<ListKind>()
  let wake = () => {}
  let hasEnded = false
  const note = (server: string, kind: ListKind) => {
    if (!names.has(server) || !kinds.has(kind)) return
    changed.add(kind)
    wake()
  }
  const unsubscribe = [lists.onChanged(note), catalog.onChanged((server) => note(server, 'tools'))]
  const end = () => {
    hasEnded = true
    stopping.removeEventListener('abort', end)
    for (const stop of unsubscribe.splice(0)) stop()
    wake()
  }
  if (stopping.aborted) end()
  else stopping.addEventListener('abort', end)
  client.onAbort(end)
  client.onClose(end)
  for (const server of servers) lists.watch(server)

  async function* stream(): AsyncGenerator<string, void, undefined> {
    try {
      yield first === undefined ? ': connected\n\n' : `event: message\ndata: ${first}\n\n`
      while (!hasEnded) {
        for (const kind of changed) yield `event: message\ndata: ${format(kind)}\n\n`
        changed.clear()
        const isSilent = await new Promise<boolean>((resolve) => {
          const timer = setTimeout(resolve, KEEP_ALIVE_MS, true).unref()
          wake = () => {
            clearTimeout(timer)
            resolve(false)
          }
          if (hasEnded || changed.size > 0) wake()
        })
        if (!isSilent) continue
        await confirm()
        yield ': keep-alive\n\n'
      }
    } catch {
      // The session has ended.
    } finally {
      end()
    }
  }
  return { status: 200, stream: stream() }
}
