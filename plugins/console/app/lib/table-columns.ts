import { storedSignal, toLists } from './stored.ts'

/** Titles of the columns that were chosen, by the name of the table. */
export const chosenColumns = storedSignal<Readonly<Record<string, readonly string[]>>>(
  'signalbox.columns',
  {},
  (stored) => toLists(stored, (title) => typeof title === 'string'),
)

interface Choosable {
  readonly title: string
  readonly isOptional?: boolean
}

/** The columns that are shown. The first one is always: it names the row. */
export function shownColumns<Shown extends Choosable>(
  name: string,
  columns: readonly Shown[],
): readonly Shown[] {
  const chosen = chosenColumns.value[name]
  return columns.filter(
    ({ title, isOptional }, index) => index === 0 || (chosen ? chosen.includes(title) : !isOptional),
  )
}

/** Without titles, the columns are those of the page again. */
export function chooseColumns(name: string, titles: readonly string[] | undefined): void {
  const { [name]: _, ...others } = chosenColumns.value
  chosenColumns.value = titles ? { ...others, [name]: titles } : others
}
