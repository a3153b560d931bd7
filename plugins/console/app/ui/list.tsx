import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { formatCount } from '../lib/format.ts'
import { type CellValue, type Sort, sumRows } from '../lib/table.ts'
import { TableTools } from './table-tools.tsx'
import { type Column, type TableProps, type TableView, useTableView } from './table-view.ts'
import { Block, useVirtualBlocks } from './virtual.tsx'

export { PagedList } from './paged-list.tsx'
export type { Column } from './table-view.ts'
export { VirtualList } from './virtual.tsx'

/** A table that scrolls sideways where the page is too narrow for it. */
export function Table<Item>(props: TableProps<Item>) {
  const { keyOf, row } = props
  const view = useTableView(props)
  return (
    <TableFrame {...props} view={view}>
      <tbody data-rows>
        {view.rows.map((item, index) => (
          <Row key={keyOf(item)} columns={view.columns} row={row} item={item} index={index} />
        ))}
      </tbody>
    </TableFrame>
  )
}

/** The totals of longer tables are above the rows: nobody would see them below. */
const MAX_BELOW = 50

interface TableFrameProps<Item> extends TableProps<Item> {
  readonly view: TableView<Item>
  /** If not all rows are in the document. */
  readonly rowCount?: number
  readonly children: ComponentChildren
}

function TableFrame<Item>({ view, rowCount, children, ...props }: TableFrameProps<Item>) {
  const { columns } = view
  const hasTotals = columns.some(({ total }) => total !== undefined) && props.items.length > 1
  const isLong = props.items.length > MAX_BELOW
  return (
    <>
      {props.name !== undefined && <TableTools {...props} name={props.name} view={view} />}
      <div class="table">
        <table aria-rowcount={rowCount === undefined ? undefined : rowCount + 1}>
          <thead>
            <tr>
              {columns.map((column) => (
                <Heading key={column.title} column={column} view={view} />
              ))}
            </tr>
            {hasTotals && isLong && <Totals view={view} />}
          </thead>
          {children}
          {hasTotals && !isLong && (
            <tfoot>
              <Totals view={view} />
            </tfoot>
          )}
        </table>
      </div>
    </>
  )
}

const DIRECTIONS = { up: 'ascending', down: 'descending' } as const

function Heading<Item>({ column, view }: { readonly column: Column<Item>; readonly view: TableView<Item> }) {
  const { title, kind, value } = column
  const { sort, setSort } = view
  if (kind === 'hidden' || value === undefined) {
    return (
      <th scope="col" class={kind === 'number' ? kind : undefined}>
        {kind === 'hidden' ? <span class="hidden">{title}</span> : title}
      </th>
    )
  }
  const direction = sort?.by === title ? (sort.isDescending ? 'down' : 'up') : undefined
  return (
    <th
      scope="col"
      class={kind === 'number' ? kind : undefined}
      aria-sort={direction ? DIRECTIONS[direction] : undefined}
    >
      <button type="button" class="sort" onClick={() => setSort(nextSort(sort, title, kind === 'number'))}>
        {title}
        <span aria-hidden="true">{direction ? (direction === 'up' ? '↑' : '↓') : ''}</span>
      </button>
    </th>
  )
}

/** Numbers begin with the highest. The third press restores the order of the list. */
function nextSort(sort: Sort | undefined, by: string, isNumber: boolean): Sort | undefined {
  if (sort?.by !== by) return { by, isDescending: isNumber }
  return sort.isDescending === isNumber ? { by, isDescending: !isNumber } : undefined
}

function Totals<Item>({ view: { columns, rows, isComplete } }: { readonly view: TableView<Item> }) {
  const label = isComplete ? 'Total' : `Total of ${formatCount(rows.length)} loaded`
  return (
    <tr class="totals">
      {columns.map((column, index) => (
        <td key={column.title} class={column.kind === 'number' ? column.kind : undefined}>
          {column.total ? <Total column={column} rows={rows} /> : index === 0 && label}
        </td>
      ))}
    </tr>
  )
}

function Total<Item>({ column, rows }: { readonly column: Column<Item>; readonly rows: readonly Item[] }) {
  const { total, value, format } = column
  // Scrolling renders the table again, and there may be many rows.
  return useMemo(() => {
    if (typeof total === 'function') return <>{total(rows)}</>
    return <>{value && showValue(sumRows(rows, value), format)}</>
  }, [rows, column])
}

function showValue(value: CellValue, format: ((value: number) => string) | undefined): ComponentChildren {
  if (value == null) return <span class="muted">–</span>
  return typeof value === 'number' && format ? format(value) : String(value)
}

interface RowProps<Item> {
  readonly columns: readonly Column<Item>[]
  readonly row: TableProps<Item>['row']
  readonly item: Item
  readonly index: number
  /** If not all rows are in the document. */
  readonly rowIndex?: number
}

/** A component, so that it is rendered again when a name that it shows has been read. */
function Row<Item>({ columns, row, item, index, rowIndex }: RowProps<Item>) {
  return (
    <tr {...row?.(item)} aria-rowindex={rowIndex}>
      {columns.map(({ title, kind, class: className, cell, value, format }) => (
        <td key={title} class={className ?? (kind === 'number' ? kind : undefined)}>
          {cell ? cell(item, index) : showValue(value?.(item), format)}
        </td>
      ))}
    </tr>
  )
}

/** A table of any length: only the rows near the window are in the document. */
export function VirtualTable<Item>(props: TableProps<Item>) {
  const { keyOf, row } = props
  const view = useTableView(props)
  const { columns, rows } = view
  const { root, range, blocks } = useVirtualBlocks(rows.length)
  const spacer = (key: string, height: number) =>
    height > 0 && (
      <tbody key={key} aria-hidden="true">
        <tr>
          <td class="spacer" colSpan={columns.length} style={{ height: `${height}px` }} />
        </tr>
      </tbody>
    )
  return (
    <div ref={root} class="virtual">
      <TableFrame {...props} view={view} rowCount={rows.length}>
        {spacer('before', range.before)}
        {blocks.map((block) => (
          <Block key={block} items={rows} look={columns} block={block}>
            {(part, first) => (
              // The first row has the titles.
              <tbody data-block={block} data-rows>
                {part.map((item, index) => (
                  <Row
                    key={keyOf(item)}
                    {...{ columns, row, item, index: first + index, rowIndex: first + index + 2 }}
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
