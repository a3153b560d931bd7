import { Component, type ComponentChildren, cloneElement, type VNode } from 'preact'
import { type Column, Table } from './table.tsx'
import { BLOCK_SIZE, useVirtualBlocks } from './virtual-blocks.ts'

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

interface VirtualTableProps<Item> {
  readonly columns: readonly Column[]
  readonly items: readonly Item[]
  /** Returns the `tr` of an item. */
  readonly row: (item: Item) => VNode
}

/** A table of any length: only the rows near the window are in the document. */
export function VirtualTable<Item>({ columns, items, row }: VirtualTableProps<Item>) {
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
      <Table columns={columns} rowCount={items.length}>
        {spacer('before', range.before)}
        {blocks.map((block) => (
          <Block key={block} items={items} block={block}>
            {(part, first) => (
              <tbody data-block={block}>
                {part.map((item, index) =>
                  // The first row has the titles.
                  cloneElement(row(item), { 'aria-rowindex': first + index + 2 }),
                )}
              </tbody>
            )}
          </Block>
        ))}
        {spacer('after', range.after)}
      </Table>
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
