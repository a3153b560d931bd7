import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
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

/** A list whose pages are read as its end comes near the window. New entries do not shift them. */
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
        <MoreButton key={cursor} isAutomatic={error === undefined} load={() => load(cursor, () => true)} />
      )}
    </>
  )
}

interface MoreButtonProps {
  readonly isAutomatic: boolean
  readonly load: () => void
}

/** Loads the next page when it comes near the window, or is pressed. */
function MoreButton({ isAutomatic, load }: MoreButtonProps) {
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
