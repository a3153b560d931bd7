import { useContext, useEffect, useState } from 'preact/hooks'
import { formatCount } from '../lib/format.ts'
import { saveFile } from '../lib/save-file.ts'
import { toCsv } from '../lib/table.ts'
import { chooseColumns, chosenColumns, shownColumns } from '../lib/table-columns.ts'
import { CheckField } from './fields.tsx'
import { ListLoad } from './paged-list.tsx'
import { PopupButton } from './popup.tsx'
import { MAX_SORTED, type TableProps, type TableView } from './table-view.ts'

interface TableToolsProps<Item> extends TableProps<Item> {
  readonly name: string
  readonly view: TableView<Item>
}

/** The line above a table. */
export function TableTools<Item>({ name, columns, csv, view }: TableToolsProps<Item>) {
  return (
    <div class="table-tools">
      <span class="muted">{describeRows(view)}</span>
      <span class="actions">
        <ColumnChoice name={name} columns={columns} />
        {(csv || columns.some(({ value }) => value)) && <ExportButton name={name} csv={csv} view={view} />}
      </span>
    </div>
  )
}

function describeRows<Item>({ rows, sort, isComplete }: TableView<Item>): string {
  const count = formatCount(rows.length)
  if (isComplete) return rows.length === 1 ? '1 row' : `${count} rows`
  if (sort && rows.length >= MAX_SORTED) return `Sorted: the first ${count} rows. There are more.`
  return `${count} rows loaded`
}

function ColumnChoice<Item>({ name, columns }: Pick<TableToolsProps<Item>, 'name' | 'columns'>) {
  const shown = shownColumns(name, columns).map(({ title }) => title)
  const choose = (title: string, isShown: boolean) =>
    chooseColumns(name, isShown ? [...shown, title] : shown.filter((other) => other !== title))
  return (
    <PopupButton label="Columns">
      {() => (
        <div class="popup-menu">
          {columns.slice(1).map(({ title }) => (
            <CheckField
              key={title}
              label={title}
              checked={shown.includes(title)}
              onChange={(isShown) => choose(title, isShown)}
            />
          ))}
          <button
            type="button"
            class="quiet"
            disabled={chosenColumns.value[name] === undefined}
            onClick={() => chooseColumns(name, undefined)}
          >
            Reset
          </button>
        </div>
      )}
    </PopupButton>
  )
}

/** Saves what is shown, after reading the pages that are missing; or leads to the export of the endpoint. */
function ExportButton<Item>({ name, csv, view }: Pick<TableToolsProps<Item>, 'name' | 'csv' | 'view'>) {
  const load = useContext(ListLoad)
  const [isWaiting, setWaiting] = useState(false)
  const isReady = isWaiting && load.isComplete
  useEffect(() => {
    if (!isReady) return
    setWaiting(false)
    saveFile(`${name}.csv`, toCsv(view.columns, view.rows))
  }, [isReady])
  if (csv !== undefined) {
    return (
      <a class="button" href={csv} download={`${name}.csv`}>
        Export CSV
      </a>
    )
  }
  function start() {
    setWaiting(true)
    load.want(Number.POSITIVE_INFINITY)
  }
  return (
    <button type="button" disabled={isWaiting} onClick={start}>
      {isWaiting ? 'Loading…' : 'Export CSV'}
    </button>
  )
}
