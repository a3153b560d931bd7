import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { route, setQuery } from '../lib/router.ts'
import { GroupPicker, UserPicker } from './combobox.tsx'
import { Form, type Options, SelectField, TextField } from './fields.tsx'
import { ViewsButton } from './views.tsx'

/** A filter in the address. */
export interface Filter {
  readonly name: string
  /**
   * Without one, the filter is in the address only, and shown there if it is set. A text with the name `q` is
   * a search, which applies as somebody types.
   */
  readonly type?: 'text' | 'user' | 'group'
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
      <ViewsButton />
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
  if (type === 'text') return <FilterText isSearch={name === 'q'} {...{ label, value, set, placeholder }} />
  return value ? (
    <button type="button" onClick={() => set(undefined)}>
      {label} {value} ✕
    </button>
  ) : null
}

interface FilterTextProps {
  readonly isSearch: boolean
  readonly label: string
  readonly value: string
  readonly placeholder: string
  readonly set: (text: string) => void
}

/** While somebody types, the gateway is not asked for every letter. */
const PAUSE_MS = 250

/** Exact values apply when they have been entered; a search, as somebody types. */
function FilterText({ isSearch, label, value, placeholder, set }: FilterTextProps) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (!isSearch || text === value) return
    const timer = setTimeout(() => set(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text, value])
  return (
    <div onFocusOut={() => text !== value && set(text)}>
      <Form onSubmit={() => set(text)}>
        <TextField
          type={isSearch ? 'search' : 'text'}
          {...{ label, placeholder, value: text, onInput: setText }}
        />
      </Form>
    </div>
  )
}
