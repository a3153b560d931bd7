import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { toError } from '../lib/api.ts'
import { useAction } from '../lib/data.ts'
import { groups, type Names, users } from '../lib/names.ts'
import { isOperator } from '../lib/session.ts'
import { FieldNote } from './fields.tsx'

export interface ComboboxOption {
  readonly id: string
  readonly name: string
  readonly note?: string
}

interface ComboboxProps {
  readonly label: string
  /** The name of what is chosen; empty if nothing is. */
  readonly value: string
  readonly placeholder?: string
  readonly required?: boolean
  /** About what is chosen. */
  readonly hint?: string | undefined
  /** Finds the options for a text; for the empty one, the first of all. */
  readonly search: (text: string, signal: AbortSignal) => Promise<readonly ComboboxOption[]>
  readonly onChange: (option: ComboboxOption) => void
  /** Called when the text was removed. Without it, a choice cannot be undone. */
  readonly onClear?: () => void
}

/** While somebody types, the gateway is not asked for every letter. */
const PAUSE_MS = 150

type Found = { readonly options: readonly ComboboxOption[]; readonly note: string }

const SEARCHING: Found = { options: [], note: 'Searching…' }

/** A text field that offers what is found. See the pattern "combobox" of the ARIA guide. */
export function Combobox(props: ComboboxProps) {
  const { label, value, placeholder, required, hint, search, onChange, onClear } = props
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  /** Undefined while nobody types: the field shows what is chosen. */
  const [text, setText] = useState<string>()
  const [isOpen, setOpen] = useState(false)
  const [{ options, note }, setFound] = useState<Found>(SEARCHING)
  const [active, setActive] = useState(-1)

  useEffect(() => {
    if (!isOpen) return
    const controller = new AbortController()
    setFound((old) => ({ ...old, note: SEARCHING.note }))
    const timer = setTimeout(
      async () => {
        const found = await find(search, text ?? '', controller.signal)
        if (controller.signal.aborted) return
        setFound(found)
        setActive(found.options.length > 0 && text ? 0 : -1)
      },
      text === undefined ? 0 : PAUSE_MS,
    )
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [isOpen, text])

  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: 'nearest' })
  }, [active])

  function close() {
    setOpen(false)
    setText(undefined)
    setActive(-1)
  }

  function choose(option: ComboboxOption) {
    close()
    onChange(option)
  }

  function move(step: number) {
    if (!isOpen) setOpen(true)
    else if (options.length > 0) setActive((old) => (old + step + options.length) % options.length)
  }

  function onKeyDown(event: KeyboardEvent) {
    const option = options[active]
    if (event.key === 'ArrowDown') move(1)
    else if (event.key === 'ArrowUp') move(active < 0 ? 0 : -1)
    else if (event.key === 'Enter' && isOpen) option && choose(option)
    // A dialog around the field stays open.
    else if (event.key === 'Escape' && isOpen) close()
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  const hasOptions = isOpen && options.length > 0
  return (
    <div class="field combobox">
      <label for={id}>{label}</label>
      <div class="box">
        <input
          id={id}
          role="combobox"
          type="text"
          autoComplete="off"
          spellcheck={false}
          aria-autocomplete="list"
          aria-expanded={hasOptions}
          aria-controls={hasOptions ? `${id}-list` : undefined}
          aria-activedescendant={hasOptions && active >= 0 ? `${id}-${active}` : undefined}
          aria-describedby={hint ? `${id}-hint` : undefined}
          placeholder={placeholder}
          required={required}
          value={text ?? value}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value)
            setOpen(true)
            if (currentTarget.value === '') onClear?.()
          }}
          onClick={() => setOpen(true)}
          onKeyDown={onKeyDown}
          onBlur={close}
        />
        <div class="popup" hidden={!isOpen}>
          {hasOptions && (
            <div ref={list} id={`${id}-list`} role="listbox" aria-label={label} tabIndex={-1}>
              {options.map((option, index) => (
                <div
                  key={option.id}
                  id={`${id}-${index}`}
                  role="option"
                  tabIndex={-1}
                  aria-selected={index === active}
                  onMouseDown={(event) => {
                    // The field keeps the focus.
                    event.preventDefault()
                    choose(option)
                  }}
                >
                  {option.name} {option.note && <small class="muted">{option.note}</small>}
                </div>
              ))}
            </div>
          )}
          <p class="muted" role="status">
            {isOpen ? note : ''}
          </p>
        </div>
      </div>
      <FieldNote id={hint && `${id}-hint`} hint={hint} />
    </div>
  )
}

async function find(search: ComboboxProps['search'], text: string, signal: AbortSignal): Promise<Found> {
  try {
    const options = await search(text, signal)
    if (options.length > 0) return { options, note: '' }
    return { options, note: text === '' ? 'There are none.' : `No name contains “${text}”.` }
  } catch (thrown) {
    return { options: [], note: toError(thrown).message }
  }
}

async function findNames(
  names: Names,
  text: string,
  signal: AbortSignal,
): Promise<readonly ComboboxOption[]> {
  const found = await names.search(text, signal)
  return found.map(({ id, name }) => ({ id: String(id), name, note: String(id) }))
}

interface PickerProps {
  readonly label?: string
  /** The id; empty if nothing is chosen. */
  readonly value: string
  readonly placeholder?: string
  readonly required?: boolean
  /** With the empty text if the choice was removed. */
  readonly onChange: (id: string) => void
}

function Picker({ of, label, value, onChange, ...props }: PickerProps & { label: string; of: Names }) {
  return (
    <Combobox
      {...props}
      label={label}
      value={value === '' ? '' : of.of(Number(value))}
      search={(text, signal) => findNames(of, text, signal)}
      onChange={({ id }) => onChange(id)}
      onClear={() => onChange('')}
    />
  )
}

/** Chooses one of all users. */
export const UserPicker = ({ label = 'User', ...props }: PickerProps) => (
  <Picker {...props} label={label} of={users} />
)

/** Chooses one of all groups. */
export const GroupPicker = (props: PickerProps) => <Picker label="Group" {...props} of={groups} />

/** The user whom an operator chooses; at first, the first one of all. */
export function useChosenUser(initial = '') {
  const [user, set] = useState(initial)
  const first = useAction(() => users.first().then(set))
  useEffect(() => {
    if (isOperator() && user === '') first.start()
  }, [])
  return { user, set, error: first.error }
}

interface ListPickerProps {
  readonly label: string
  readonly of: Names
  readonly chosen: readonly number[]
  readonly onChange: (chosen: readonly number[]) => void
}

/** Chooses several, and removes them again. */
export function ListPicker({ label, of, chosen, onChange }: ListPickerProps) {
  return (
    <div>
      <Combobox
        label={label}
        value=""
        search={async (text, signal) =>
          (await findNames(of, text, signal)).filter(({ id }) => !chosen.includes(Number(id)))
        }
        onChange={({ id }) => onChange([...chosen, Number(id)])}
      />
      <div class="actions">
        {chosen.map((id) => (
          <button
            key={id}
            type="button"
            aria-label={`Remove ${of.of(id)}`}
            onClick={() => onChange(chosen.filter((other) => other !== id))}
          >
            {of.of(id)} ✕
          </button>
        ))}
      </div>
    </div>
  )
}
