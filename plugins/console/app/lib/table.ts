export type CellValue = string | number | boolean | null | undefined

/** What sorts and exports the rows of a table. */
export interface ValueColumn<Item> {
  readonly title: string
  readonly value?: (item: Item) => CellValue
}

export interface Sort {
  /** The title of the column. */
  readonly by: string
  readonly isDescending: boolean
}

/** Reads the parameter of an address: a title; with a minus sign before it, the highest values come first. */
export function parseSort(text: string | null): Sort | undefined {
  if (!text) return undefined
  const isDescending = text.startsWith('-')
  return { by: isDescending ? text.slice(1) : text, isDescending }
}

export function toSortParameter(sort: Sort | undefined): string | undefined {
  return sort && `${sort.isDescending ? '-' : ''}${sort.by}`
}

const COLLATOR = new Intl.Collator(undefined, { numeric: true })

/** Sorts rows by a value. Those without one come last, in both directions; equal ones keep their order. */
export function sortRows<Item>(
  items: readonly Item[],
  toValue: (item: Item) => CellValue,
  isDescending: boolean,
): readonly Item[] {
  const rows = items.map((item) => ({ item, value: toValue(item) }))
  const direction = isDescending ? -1 : 1
  rows.sort((a, b) => {
    if (isMissing(a.value) || isMissing(b.value))
      return Number(isMissing(a.value)) - Number(isMissing(b.value))
    return direction * compareValues(a.value, b.value)
  })
  return rows.map(({ item }) => item)
}

const isMissing = (value: CellValue) => value == null || value === ''

function compareValues(a: CellValue, b: CellValue): number {
  if (typeof a === 'string' && typeof b === 'string') return COLLATOR.compare(a, b)
  return Number(a) - Number(b)
}

/** Returns the sum of a column. What has no value counts nothing. */
export function sumRows<Item>(items: readonly Item[], toValue: (item: Item) => CellValue): number {
  return items.reduce((sum, item) => sum + (Number(toValue(item)) || 0), 0)
}

/** Formats the columns that have values as CSV (RFC 4180), with their titles. */
export function toCsv<Item>(columns: readonly ValueColumn<Item>[], items: readonly Item[]): string {
  const exported = columns.filter(({ value }) => value !== undefined)
  const lines = [
    exported.map(({ title }) => title),
    ...items.map((item) => exported.map(({ value }) => value?.(item))),
  ]
  return lines.map((line) => `${line.map(toCsvField).join(',')}\r\n`).join('')
}

function toCsvField(value: CellValue): string {
  if (value == null) return ''
  if (typeof value !== 'string') return String(value)
  // A spreadsheet would run text that begins like a formula; users choose some of the texts.
  const text = /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
