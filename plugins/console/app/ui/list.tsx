import { Component, type ComponentChildren, type JSX, type RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, endpointUrl, type Page, type Query, send, toError } from '../lib/api.ts'
import { ErrorMessage, Loading } from './page.tsx'

/** A column of a table. Numbers are aligned to the right; a hidden title is for screen readers. */
export interface Column<Item> {
  readonly title: string
  readonly kind?: 'number' | 'hidden'
  readonly class?: string
  readonly cell: (item: Item, index: number) => ComponentChildren
}

interface TableProps<Item> {
  readonly columns: readonly Column<Item>[]
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string | number
  /** Attributes of the row of an item. */
  readonly row?: (item: Item) => JSX.IntrinsicElements['tr']
}

/** A table that scrolls sideways where the page is too narrow for it. */
export function Table<Item>({ items, keyOf, ...props }: TableProps<Item>) {
  return (
    <TableFrame columns={props.columns}>
      <tbody>
        {items.map((item, index) => (
          <Row key={keyOf(item)} {...props} item={item} index={index} />
        ))}
      </tbody>
    </TableFrame>
  )
}

interface TableFrameProps<Item> {
  readonly columns: readonly Column<Item>[]
  /** If not all rows are in the document. */
  readonly rowCount?: number
  readonly children: ComponentChildren
}

function TableFrame<Item>({ columns, rowCount, children }: TableFrameProps<Item>) {
  return (
    <div class="table">
      <table aria-rowcount={rowCount === undefined ? undefined : rowCount + 1}>
        <thead>
          <tr>
            {columns.map(({ title, kind }) => (
              <th key={title} scope="col" class={kind === 'number' ? kind : undefined}>
                {kind === 'hidden' ? <span class="hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        {children}
      </table>
    </div>
  )
}

interface RowProps<Item> extends Pick<TableProps<Item>, 'columns' | 'row'> {
  readonly item: Item
  readonly index: number
  /** If not all rows are in the document. */
  readonly rowIndex?: number
}

/** A component, so that it is rendered again when a name that it shows has been read. */
function Row<Item>({ columns, row, item, index, rowIndex }: RowProps<Item>) {
  return (
    <tr {...row?.(item)} aria-rowindex={rowIndex}>
      {columns.map(({ title, kind, class: className, cell }) => (
        <td key={title} class={className ?? (kind === 'number' ? kind : undefined)}>
          {cell(item, index)}
        </td>
      ))}
    </tr>
  )
}

interface PagedListProps<Item> {
  readonly path: string
  readonly query?: Query
  /** Change it to load the list again. */
  readonly version?: number | string
  /** Where the list is in `data` of a page, if it is not all of it. */
  readonly itemsOf?: (data: unknown) => readonly Item[]
  /** Shown if the list is empty. */
  readonly empty: ComponentChildren
  readonly children: (items: readonly Item[]) => ComponentChildren
}

/** A list whose pages are read as its end comes near the window. New entries do not shift them. */
export function PagedList<Item>(props: PagedListProps<Item>) {
  const { path, query = {}, version = 0, empty, children } = props
  const { itemsOf = (data) => data as readonly Item[] } = props
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
      setItems((old) => [...(from === null ? [] : (old ?? [])), ...itemsOf(page.data)])
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
      {items && (items.length > 0 ? children(items) : <p class="empty">{empty}</p>)}
      {error && <ErrorMessage error={error} retry={() => load(items ? cursor : null, () => true)} />}
      {isLoading && <Loading />}
      {!isLoading && cursor !== null && (
        <MoreButton key={cursor} isAutomatic={error === undefined} load={() => load(cursor, () => true)} />
      )}
    </>
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

/** Rows of a block. Pages of lists are multiples of it. */
const BLOCK_SIZE = 20

interface BlockProps<Item> {
  readonly items: readonly Item[]
  readonly block: number
  readonly children: (items: readonly Item[], first: number) => ComponentChildren
}

/** The items of a block. Scrolling does not render them again, nor do pages that are added below. */
class Block<Item> extends Component<BlockProps<Item>> {
  override shouldComponentUpdate({ items }: BlockProps<Item>): boolean {
    const first = this.props.block * BLOCK_SIZE
    for (let index = first; index < first + BLOCK_SIZE; index++)
      if (items[index] !== this.props.items[index]) return true
    return false
  }

  render({ items, block, children }: BlockProps<Item>) {
    const first = block * BLOCK_SIZE
    return children(items.slice(first, first + BLOCK_SIZE), first)
  }
}

/** A table of any length: only the rows near the window are in the document. */
export function VirtualTable<Item>({ items, keyOf, ...props }: TableProps<Item>) {
  const { columns } = props
  const { root, range, blocks } = useVirtualBlocks(items.length)
  const spacer = (key: string, height: number) =>
    height > 0 && (
      <tbody key={key} aria-hidden="true">
        <tr>
          <td class="spacer" colSpan={columns.length} style={{ height: `${height}px` }} />
        </tr>
      </tbody>
    )
  return (
    <div ref={root}>
      <TableFrame columns={columns} rowCount={items.length}>
        {spacer('before', range.before)}
        {blocks.map((block) => (
          <Block key={block} items={items} block={block}>
            {(part, first) => (
              // The first row has the titles.
              <tbody data-block={block}>
                {part.map((item, index) => (
                  <Row
                    key={keyOf(item)}
                    {...props}
                    item={item}
                    index={first + index}
                    rowIndex={first + index + 2}
                  />
                ))}
              </tbody>
            )}
          </Block>
        ))}
        {spacer('after', range.after)}
      </TableFrame>
    </div>
  )
}

interface VirtualListProps<Item> {
  readonly class: string
  readonly items: readonly Item[]
  /** Returns the `li` of an item. */
  readonly children: (item: Item) => ComponentChildren
}

/** A list of any length: only the items near the window are in the document. */
export function VirtualList<Item>({ class: className, items, children }: VirtualListProps<Item>) {
  const { root, range, blocks } = useVirtualBlocks(items.length)
  return (
    <div ref={root}>
      <div style={{ height: `${range.before}px` }} />
      {blocks.map((block) => (
        <Block key={block} items={items} block={block}>
          {(part) => (
            <ol class={className} data-block={block}>
              {part.map(children)}
            </ol>
          )}
        </Block>
      ))}
      <div style={{ height: `${range.after}px` }} />
    </div>
  )
}

/** Blocks are shown this far outside of the window, so that scrolling does not show gaps. */
const MARGIN_PX = 800

const MIN_ROW_PX = 30

interface BlockRange {
  readonly first: number
  /** The block after the last one. */
  readonly end: number
  /** Height of the blocks that are left out before and after. */
  readonly before: number
  readonly after: number
}

interface VirtualBlocks {
  /** Contains the elements of the blocks, each with its number in `data-block`. */
  readonly root: RefObject<HTMLDivElement | null>
  readonly range: BlockRange
  /** Numbers of the blocks to show. */
  readonly blocks: readonly number[]
}

/** Tells which blocks of a long list are near the window. Rows may have different heights. */
function useVirtualBlocks(count: number): VirtualBlocks {
  const root = useRef<HTMLDivElement>(null)
  const heights = useRef(new Map<number, number>())
  const total = Math.ceil(count / BLOCK_SIZE)
  const [range, setRange] = useState<BlockRange>({ first: 0, end: 2, before: 0, after: 0 })
  if (total < heights.current.size) heights.current.clear()

  function update() {
    const shown = [...(root.current?.querySelectorAll<HTMLElement>('[data-block]') ?? [])]
    for (const block of shown) heights.current.set(Number(block.dataset.block), block.offsetHeight)
    const top = (shown[0]?.getBoundingClientRect().top ?? 0) - range.before
    const next = findRange(heights.current, total, top)
    setRange((old) => (isSameRange(old, next) ? old : next))
  }

  useLayoutEffect(update)
  useEffect(() => {
    let frame = 0
    const schedule = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(update)
    }
    addEventListener('scroll', schedule, { passive: true })
    addEventListener('resize', schedule)
    return () => {
      cancelAnimationFrame(frame)
      removeEventListener('scroll', schedule)
      removeEventListener('resize', schedule)
    }
  })

  const end = Math.min(range.end, total)
  const first = Math.min(range.first, Math.max(0, end - 1))
  return { root, range, blocks: Array.from({ length: end - first }, (_, index) => first + index) }
}

/** `top` is where the list begins, relative to the window. Blocks that were never shown count as average. */
function findRange(heights: ReadonlyMap<number, number>, total: number, top: number): BlockRange {
  const sum = [...heights.values()].reduce((all, height) => all + height, 0)
  const average = heights.size === 0 ? BLOCK_SIZE * MIN_ROW_PX : sum / heights.size
  let [y, first, end, before, after] = [top, -1, 0, 0, 0]
  for (let block = 0; block < total; block++) {
    const height = heights.get(block) ?? average
    const isNear = y + height > -MARGIN_PX && y < innerHeight + MARGIN_PX
    if (isNear && first < 0) first = block
    if (isNear) end = block + 1
    else if (first < 0) before += height
    else after += height
    y += height
  }
  // Far below the list: its last block stays, to measure from.
  if (first < 0)
    return { first: total - 1, end: total, before: before - (heights.get(total - 1) ?? average), after }
  return { first, end, before, after }
}

/** Heights are fractions of pixels on some screens: small differences must not render again. */
function isSameRange(a: BlockRange, b: BlockRange): boolean {
  const isSameHeight = Math.abs(a.before - b.before) < 1 && Math.abs(a.after - b.after) < 1
  return a.first === b.first && a.end === b.end && isSameHeight
}
