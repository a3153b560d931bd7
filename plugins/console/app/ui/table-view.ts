import { computed } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useContext, useEffect, useMemo, useState } from 'preact/hooks'
import { route, setQuery } from '../lib/router.ts'
import { parseSort, type Sort, sortRows, toSortParameter, type ValueColumn } from '../lib/table.ts'
import { shownColumns } from '../lib/table-columns.ts'
import { ListLoad } from './paged-list.tsx'

/** A column of a table. With a `value`, the table can be sorted by it, and an export has it. */
export interface Column<Item> extends ValueColumn<Item> {
  /** Unique in the table. */
  readonly title: string
  /** Numbers are aligned to the right; a hidden title is for screen readers. */
  readonly kind?: 'number' | 'hidden'
  readonly class?: string
  /** Default: the value, formatted. */
  readonly cell?: (item: Item, index: number) => ComponentChildren
  /** How a value that is a number is written, in cells without an own one and in the sum. */
  readonly format?: (value: number) => string
  /** What a last row has below the column: the sum of the values, or something else. */
  readonly total?: 'sum' | ((items: readonly Item[]) => ComponentChildren)
  /** Not shown until somebody chooses it. */
  readonly isOptional?: boolean
}

export interface TableProps<Item> {
  readonly columns: readonly Column<Item>[]
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string | number
  /** Attributes of the row of an item. */
  readonly row?: (item: Item) => JSX.IntrinsicElements['tr']
  /**
   * Of the table that a page is about, and of the file of its export. Above it are the number of rows, a
   * choice of columns, and the export. The order is in the address.
   */
  readonly name?: string
  /** The export of the endpoint, in place of one of the rows that are shown. */
  readonly csv?: string | undefined
}

/** A table as somebody wants to see it. */
export interface TableView<Item> {
  /** Those that are shown. */
  readonly columns: readonly Column<Item>[]
  /** All items, in order. */
  readonly rows: readonly Item[]
  readonly sort: Sort | undefined
  setSort(sort: Sort | undefined): void
  /** Whether all pages of the list have been read. */
  readonly isComplete: boolean
}

/** Sorting reads as many. What comes after them is sorted as it is read. */
export const MAX_SORTED = 5000

export function useTableView<Item>({ name, columns, items }: TableProps<Item>): TableView<Item> {
  const [ownSort, setOwnSort] = useState<Sort>()
  const load = useContext(ListLoad)
  const chosen = name === undefined ? ownSort : parseSort(route.value.query.get('sort'))
  const column = columns.find(({ title, value }) => value !== undefined && title === chosen?.by)
  const sort = column && chosen
  const isDescending = sort?.isDescending === true
  const value = column?.value
  // Some values are names, which are read when they are asked for.
  const sorted = useMemo(
    () => computed(() => (value ? sortRows(items, value, isDescending) : items)),
    [items, value, isDescending],
  )
  const isSorted = sort !== undefined
  useEffect(() => {
    if (isSorted) load.want(MAX_SORTED)
  }, [isSorted, items])
  return {
    columns: useShownColumns(name, columns),
    rows: sorted.value,
    sort,
    setSort: (next) => (name === undefined ? setOwnSort(next) : setQuery({ sort: toSortParameter(next) })),
    isComplete: load.isComplete,
  }
}

/** The same array as long as the same columns are shown. */
function useShownColumns<Item>(name: string | undefined, columns: readonly Column<Item>[]) {
  const shown = name === undefined ? columns : shownColumns(name, columns)
  const titles = shown.map(({ title }) => title).join('\n')
  return useMemo(() => shown, [columns, titles])
}
