import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type ApiError, endpointUrl, send } from '../lib/api.ts'
import { toError } from '../lib/resource.ts'
import type { Page } from '../lib/types.ts'
import { ErrorMessage, Loading } from './page.tsx'

interface PagedListProps<Item> {
  readonly path: string
  readonly query?: Readonly<Record<string, unknown>>
  /** Change it to load the list again. */
  readonly version?: number
  readonly children: (items: readonly Item[]) => ComponentChildren
}

/** A list that is read page by page. Pages do not shift while new entries arrive. */
export function PagedList<Item>({ path, query = {}, version = 0, children }: PagedListProps<Item>) {
  const [items, setItems] = useState<readonly Item[]>()
  const [cursor, setCursor] = useState<string | null>(null)
  const [error, setError] = useState<ApiError>()
  const [isLoading, setLoading] = useState(true)
  const url = endpointUrl(path, query)

  async function load(from: string | null, isCurrent: () => boolean) {
    setLoading(true)
    try {
      const page = await send<Page<Item>>('GET', endpointUrl(path, { ...query, cursor: from }))
      if (!isCurrent()) return
      setItems((old) => [...(from === null ? [] : (old ?? [])), ...page.data])
      setCursor(page.next_cursor)
      setError(undefined)
    } catch (thrown) {
      if (isCurrent()) setError(toError(thrown))
    }
    if (isCurrent()) setLoading(false)
  }

  useEffect(() => {
    let isCurrent = true
    load(null, () => isCurrent)
    return () => {
      isCurrent = false
    }
  }, [url, version])

  return (
    <>
      {items && children(items)}
      {error && <ErrorMessage error={error} retry={() => load(items ? cursor : null, () => true)} />}
      {isLoading && <Loading />}
      {!isLoading && cursor !== null && (
        <button type="button" class="more" onClick={() => load(cursor, () => true)}>
          Load more
        </button>
      )}
    </>
  )
}
