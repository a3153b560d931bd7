import type { ComponentChildren } from 'preact'

/** A column by its title. Numbers are aligned to the right; a hidden title is for screen readers. */
export type Column = string | { readonly number: string } | { readonly hidden: string }

interface TableProps {
  readonly columns: readonly Column[]
  /** If not all rows are in the document. */
  readonly rowCount?: number
  /** The rows, in one or more bodies. */
  readonly children: ComponentChildren
}

/** A table that scrolls sideways where the page is too narrow for it. */
export function Table({ columns, rowCount, children }: TableProps) {
  return (
    <div class="table">
      <table aria-rowcount={rowCount === undefined ? undefined : rowCount + 1}>
        <thead>
          <tr>{columns.map(toHead)}</tr>
        </thead>
        {children}
      </table>
    </div>
  )
}

function toHead(column: Column) {
  if (typeof column === 'string') return <th scope="col">{column}</th>
  if ('hidden' in column)
    return (
      <th scope="col">
        <span class="hidden">{column.hidden}</span>
      </th>
    )
  return (
    <th scope="col" class="number">
      {column.number}
    </th>
  )
}
