import { navigate, route } from './router.ts'
import { storedSignal, toLists } from './stored.ts'
import { chooseColumns, chosenColumns } from './table-columns.ts'

/** The filters, the order and the range of a page, and the columns of its table, under a name. */
export interface SavedView {
  readonly name: string
  readonly query: Readonly<Record<string, string>>
  /** Without them, those of the page. */
  readonly columns?: readonly string[] | undefined
}

/** By the path of the page, which is the name of its table, too. */
export const savedViews = storedSignal<Readonly<Record<string, readonly SavedView[]>>>(
  'signalbox.views',
  {},
  (stored) => toLists(stored, isSavedView),
)

function isSavedView(entry: unknown): entry is SavedView {
  const { name, query, columns = [] } = Object(entry) as Partial<SavedView>
  return typeof name === 'string' && typeof query === 'object' && query !== null && Array.isArray(columns)
}

/** Saves the page as it is. A view with the same name is replaced. */
export function saveView(page: string, name: string): void {
  const query = Object.fromEntries(route.value.query)
  const others = (savedViews.value[page] ?? []).filter((view) => view.name !== name)
  setViews(page, [...others, { name, query, columns: chosenColumns.value[page] }])
}

export function removeView(page: string, { name }: SavedView): void {
  setViews(
    page,
    (savedViews.value[page] ?? []).filter((view) => view.name !== name),
  )
}

export function openView(page: string, { query, columns }: SavedView): void {
  chooseColumns(page, columns)
  navigate(`/${page}`, query)
}

/** Whether the page is as it was saved. */
export function isOpenView({ query }: SavedView): boolean {
  const current = route.value.query
  const entries = Object.entries(query)
  return entries.length === current.size && entries.every(([name, value]) => current.get(name) === value)
}

function setViews(page: string, views: readonly SavedView[]): void {
  savedViews.value = { ...savedViews.value, [page]: views }
}
