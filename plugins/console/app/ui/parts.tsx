import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { TextField, type TextProps } from './fields.tsx'

export type Parts = Readonly<Record<string, unknown>>

/** One key of an object that is edited part by part, such as a condition of a rule. */
export interface PartSpec {
  readonly name: string
  readonly label: string
  /** What it is when it is added. */
  readonly initial: unknown
  readonly render: (value: unknown, set: (value: unknown) => void) => ComponentChildren
}

interface PartsFieldProps {
  readonly label: string
  /** What there is one of, such as "condition". */
  readonly noun: string
  /** What it means that there are none. */
  readonly empty: string
  readonly specs: readonly PartSpec[]
  readonly value: Parts
  readonly onChange: (value: Parts) => void
}

/** An object whose keys are added and removed one by one. Those that plugins have added are JSON. */
export function PartsField({ label, noun, empty, specs, value, onChange }: PartsFieldProps) {
  const id = useId()
  const group = useRef<HTMLFieldSetElement>(null)
  const [added, setAdded] = useState<string>()
  const names = Object.keys(value)
  const specOf = (name: string) => specs.find((spec) => spec.name === name) ?? jsonPart(name)
  const others = specs.filter(({ name }) => !names.includes(name))

  // A key that is pressed before the next frame is for the part that was added.
  useLayoutEffect(() => {
    if (added === undefined) return
    const part = [...(group.current?.querySelectorAll<HTMLElement>(':scope > .part') ?? [])].at(-1)
    part?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [added])

  function add(name: string) {
    onChange({ ...value, [name]: specOf(name).initial })
    setAdded(name)
  }

  function remove(name: string) {
    onChange(Object.fromEntries(Object.entries(value).filter(([key]) => key !== name)))
    setAdded(undefined)
    document.getElementById(id)?.focus()
  }

  return (
    <fieldset ref={group} class="choices parts">
      <legend>{label}</legend>
      {names.length === 0 && <p class="muted">{empty}</p>}
      {names.map((name) => {
        const spec = specOf(name)
        return (
          <div key={name} class="part">
            <div>{spec.render(value[name], (changed) => onChange({ ...value, [name]: changed }))}</div>
            <RemovePart label={`Remove the ${noun} ${spec.label}`} onClick={() => remove(name)} />
          </div>
        )
      })}
      <select
        id={id}
        aria-label={`Add ${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`}
        value=""
        hidden={others.length === 0}
        onChange={({ currentTarget }) => currentTarget.value !== '' && add(currentTarget.value)}
      >
        <option value="">
          Add {/^[aeiou]/.test(noun) ? 'an' : 'a'} {noun}…
        </option>
        {others.map(({ name, label }) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
    </fieldset>
  )
}

export function RemovePart({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <button type="button" class="quiet" aria-label={label} title={label} onClick={onClick}>
      ✕
    </button>
  )
}

function jsonPart(name: string): PartSpec {
  return {
    name,
    label: name,
    initial: {},
    render: (value, set) => <JsonField label={`${name} (JSON)`} rows={2} value={value} onChange={set} />,
  }
}

interface TypedFieldProps extends Pick<TextProps, 'label' | 'hint' | 'rows' | 'placeholder' | 'required'> {
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

/** Any JSON. A form with invalid JSON is not submitted. */
export function JsonField({ value, onChange, ...field }: TypedFieldProps) {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2))
  const [issue, setIssue] = useState<string>()
  function enter(entered: string) {
    setText(entered)
    try {
      onChange(JSON.parse(entered))
      setIssue(undefined)
    } catch {
      setIssue('This is not valid JSON.')
    }
  }
  return <TextField {...field} mono value={text} onInput={enter} issue={issue} isBlocking />
}

/** Several texts, each in a line of its own. */
export function LinesField({ value, onChange, ...field }: TypedFieldProps) {
  const [text, setText] = useState(() => [value].flat().join('\n'))
  function enter(entered: string) {
    setText(entered)
    onChange(entered.split('\n').filter((line) => line.trim() !== ''))
  }
  return <TextField rows={2} {...field} value={text} onInput={enter} />
}

/** A text, or JSON if it is: `true` and `5` are no texts unless they are in quotes. */
export function ValueField({ value, onChange, ...field }: TypedFieldProps) {
  const [text, setText] = useState(() => toEntry(value))
  function enter(entered: string) {
    setText(entered)
    onChange(fromEntry(entered))
  }
  return <TextField {...field} value={text} onInput={enter} />
}

function toEntry(value: unknown): string {
  return typeof value === 'string' && fromEntry(value) === value ? value : JSON.stringify(value)
}

function fromEntry(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

interface RowsFieldProps<Value> {
  readonly label: string
  /** What a row is about, such as "value". */
  readonly noun: string
  readonly value: Readonly<Record<string, Value>>
  readonly initial: Value
  readonly onChange: (value: Readonly<Record<string, Value>>) => void
  readonly row: (name: string, value: Value, set: (name: string, value: Value) => void) => ComponentChildren
}

/** An object whose keys are chosen freely, a row for each. */
export function RowsField<Value>({ label, noun, value, initial, onChange, row }: RowsFieldProps<Value>) {
  const [rows, setRows] = useState(() => {
    const entries = Object.entries(value)
    return (entries.length > 0 ? entries : [['', initial] as [string, Value]]).map(([name, content], id) => ({
      ...{ id, name, content },
    }))
  })
  function change(changed: typeof rows) {
    setRows(changed)
    onChange(Object.fromEntries(changed.map(({ name, content }) => [name, content])))
  }
  const nextId = Math.max(-1, ...rows.map(({ id }) => id)) + 1
  return (
    <fieldset class="plain">
      <legend>{label}</legend>
      {rows.map(({ id, name, content }) => (
        <div key={id} class="part">
          <div class="row">
            {row(name, content, (newName, newContent) =>
              change(
                rows.map((other) => (other.id === id ? { id, name: newName, content: newContent } : other)),
              ),
            )}
          </div>
          {rows.length > 1 && (
            <RemovePart
              label={`Remove the ${noun} ${name}`}
              onClick={() => change(rows.filter((other) => other.id !== id))}
            />
          )}
        </div>
      ))}
      <button
        type="button"
        class="quiet"
        onClick={() => setRows([...rows, { id: nextId, name: '', content: initial }])}
      >
        Add a {noun}
      </button>
    </fieldset>
  )
}
