import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { route, setQuery } from '../lib/router.ts'
import { GroupPicker, UserPicker } from './combobox.tsx'
import { Form, type Options, SelectField, TextField } from './fields.tsx'

/** A filter in the address. The first and last day of a range are times there, in the zone of the viewer. */
export interface Filter {
  readonly name: string
  /** Without one, the filter is in the address only, and shown there if it is set. */
  readonly type?: 'text' | 'user' | 'group' | 'first day' | 'last day'
  readonly label?: string
  readonly options?: Options
  readonly placeholder?: string
}

/** The filters of the address that are set, by name. */
export function chosenFilters(filters: readonly Filter[]): Readonly<Record<string, string>> {
  const { query } = route.value
  return Object.fromEntries(filters.map(({ name }) => [name, query.get(name) ?? '']))
}

interface FiltersProps {
  readonly filters: readonly Filter[]
  /** What else belongs to the list. */
  readonly children?: ComponentChildren
}

export function Filters({ filters, children }: FiltersProps) {
  const chosen = chosenFilters(filters)
  return (
    <search class="filters">
      {filters.map((filter) => (
        <FilterField key={filter.name} {...filter} value={chosen[filter.name] ?? ''} />
      ))}
      {children}
    </search>
  )
}

function FilterField({
  name,
  type,
  label = name,
  options,
  placeholder = '',
  value,
}: Filter & { value: string }) {
  const set = (text: string | undefined) => setQuery({ [name]: text })
  if (options) return <SelectField label={label} value={value} options={options} onChange={set} />
  if (type === 'user') return <UserPicker value={value} placeholder="all" onChange={set} />
  if (type === 'group') return <GroupPicker value={value} placeholder="all" onChange={set} />
  if (type === 'text') return <FilterText {...{ label, value, set, placeholder }} />
  if (type === undefined)
    return value ? (
      <button type="button" onClick={() => set(undefined)}>
        {label} {value} ✕
      </button>
    ) : null
  const isEnd = type === 'last day'
  return (
    <TextField
      label={label}
      type="date"
      value={toDay(value, isEnd)}
      onInput={(day) => set(toTime(day, isEnd))}
    />
  )
}

interface FilterTextProps {
  readonly label: string
  readonly value: string
  readonly placeholder: string
  readonly set: (text: string) => void
}

/** Applies when the text has been entered, not with every letter. */
function FilterText({ label, value, placeholder, set }: FilterTextProps) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return (
    <div onFocusOut={() => text !== value && set(text)}>
      <Form onSubmit={() => set(text)}>
        <TextField label={label} value={text} onInput={setText} placeholder={placeholder} />
      </Form>
    </div>
  )
}

/** Positions of the log, which links may have, are not days. */
function toDay(value: string, isEnd: boolean): string {
  const time = /^\d+$/.test(value) ? Number.NaN : Date.parse(value)
  if (Number.isNaN(time)) return ''
  const date = new Date(isEnd ? time - 1 : time)
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
  return parts.map((part, index) => String(part).padStart(index === 0 ? 4 : 2, '0')).join('-')
}

const DAY_MS = 86_400_000

function toTime(day: string, isEnd: boolean): string | undefined {
  const start = new Date(`${day}T00:00`)
  if (Number.isNaN(start.getTime())) return undefined
  // A day may have 23 or 25 hours.
  const next = new Date(start.getTime() + DAY_MS * 1.5)
  const end = new Date(next.getFullYear(), next.getMonth(), next.getDate())
  return (isEnd ? end : start).toISOString()
}
