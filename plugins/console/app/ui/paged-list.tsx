import { type ComponentChildren, createContext } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, endpointUrl, type Page, type Query, send, toError } from '../lib/api.ts'
import { ErrorMessage, Loading } from './page.tsx'

interface PagedListProps<Item> {
  readonly path: string
  readonly query?: Query
  /** Pages grow up to this length as the list is read. */
  readonly maxPage?: number
  /** Change it to load the list again. */
  readonly version?: number | string
  /** Where the list is in `data` of a page, if it is not all of it. */
  readonly itemsOf?: (data: unknown) => readonly Item[]
  /** Shown if the list is empty. */
  readonly empty: ComponentChildren
  readonly children: (items: readonly Item[]) => ComponentChildren
}

/** How far the list around a table has been read. Tables outside of lists have all of their rows. */
export interface LoadState {
  readonly isComplete: boolean
  /** Reads pages until there are as many entries. */
  want(count: number): void
}

export const ListLoad = createContext<LoadState>({ isComplete: true, want: () => undefined })

/** All endpoints return as many at once. */
const MAX_PAGE = 200

/** A list whose pages are read as its end comes near the window. New entries do not shift them. */
export function PagedList<Item>(props: PagedListProps<Item>) {
  const { path, query = {}, maxPage = MAX_PAGE, version = 0, empty, children } = props
  const { itemsOf = (data) => data as readonly Item[] } = props
  const [items, setItems] = useState<readonly Item[]>()
  const [cursor, setCursor] = useState<string | null>(null)
  const [error, setError] = useState<ApiError>()
  const [isLoading, setLoading] = useState(true)
  const [wanted, setWanted] = useState(0)
  /** What has been started last: the response to what came before is outdated. */
  const latest = useRef(0)
  const url = endpointUrl(path, query)
  const count = items?.length ?? 0

  async function load(from: string | null) {
    latest.current += 1
    const call = latest.current
    setLoading(true)
    try {
      const more = from !== null &&
        query.limit !== undefined && { limit: Math.max(Number(query.limit), Math.min(count, maxPage)) }
      const page = await send<Page<Item>>('GET', endpointUrl(path, { ...query, ...more, cursor: from }))
      if (call !== latest.current) return
      setItems((old) => [...(from === null ? [] : (old ?? [])), ...itemsOf(page.data)])
      setCursor(page.next_cursor)
      setError(undefined)
    } catch (thrown) {
      if (call === latest.current) setError(toError(thrown))
    }
    if (call === latest.current) setLoading(false)
  }

  useEffect(() => {
    setWanted(0)
    load(null)
    return () => {
      latest.current += 1
    }
  }, [url, version])
  const isWanted = cursor !== null && count < wanted
  useEffect(() => {
    if (isWanted && !isLoading && !error) load(cursor)
  }, [isWanted, isLoading, error])

  return (
    <ListLoad.Provider value={{ isComplete: !isLoading && cursor === null, want: setWanted }}>
      {items && (count > 0 ? children(items) : <p class="empty">{empty}</p>)}
      {error && <ErrorMessage error={error} retry={() => load(items ? cursor : null)} />}
      {isLoading && <Loading />}
      {!isLoading && !isWanted && cursor !== null && (
        <MoreButton key={cursor} isAutomatic={error === undefined} load={() => load(cursor)} />
      )}
    </ListLoad.Provider>
  )
}

/** Loads the next page when it comes near the window, or is pressed. */
function MoreButton({ isAutomatic, load }: { isAutomatic: boolean; load: () => void }) {
  const button = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    if (!isAutomatic || !button.current) return
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry?.isIntersecting) return
        observer.disconnect()
        load()
      },
      { rootMargin: '800px' },
    )
    observer.observe(button.current)
    return () => observer.disconnect()
  }, [isAutomatic])
  return (
    <button ref={button} type="button" class="more" onClick={load}>
      Load more
    </button>
  )
}
