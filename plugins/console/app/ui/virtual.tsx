import { Component, type ComponentChildren, type RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Rows of a block. Pages of lists are multiples of it. */
const BLOCK_SIZE = 20

interface BlockProps<Item> {
  readonly items: readonly Item[]
  /** If it changes, the items are rendered again. */
  readonly look?: unknown
  readonly block: number
  readonly children: (items: readonly Item[], first: number) => ComponentChildren
}

/** The items of a block. Scrolling does not render them again, nor do pages that are added below. */
export class Block<Item> extends Component<BlockProps<Item>> {
  override shouldComponentUpdate({ items, look }: BlockProps<Item>): boolean {
    if (look !== this.props.look) return true
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
            <ol class={className} data-block={block} data-rows>
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
const MARGIN_PX = 500

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
export function useVirtualBlocks(count: number): VirtualBlocks {
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
