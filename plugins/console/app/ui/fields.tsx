import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { FORMS } from '../lib/schemas.ts'

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly issue?: string | undefined
}

export interface TextProps extends FieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'password' | 'number' | 'search' | 'date' | 'datetime-local'
  readonly rows?: number
  readonly required?: boolean
  readonly autoComplete?: string
  readonly placeholder?: string
  readonly maxLength?: number
  readonly min?: number
  readonly max?: number
  readonly mono?: boolean
  /** The form cannot be submitted while there is an issue. */
  readonly isBlocking?: boolean
}

/** A labelled text field; with `rows`, one of several lines. */
export function TextField(props: TextProps) {
  const { label, hint, issue, onInput, type = 'text', rows, mono, isBlocking = false, ...rest } = props
  const { autoComplete = 'off', ...others } = rest
  const id = useId()
  const described = issue || hint ? `${id}-hint` : undefined
  const common = {
    ...others,
    id,
    class: mono ? 'mono' : '',
    'aria-describedby': described,
    'aria-invalid': issue !== undefined,
    ref: (element: HTMLInputElement | HTMLTextAreaElement | null) =>
      element?.setCustomValidity((isBlocking && issue) || ''),
    onInput: (event: { currentTarget: { value: string } }) => onInput(event.currentTarget.value),
  }
  // Preact types the fields of each type of input separately; these have the same ones.
  const inputType = type as 'text'
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        <input {...common} type={inputType} step="any" autoComplete={autoComplete} spellcheck={false} />
      ) : (
        <textarea {...common} rows={rows} spellcheck={false} />
      )}
      <FieldNote id={described} hint={hint} issue={issue} />
    </div>
  )
}

interface FieldNoteProps {
  readonly id: string | undefined
  readonly hint: ComponentChildren
  readonly issue?: string | undefined
}

export function FieldNote({ id, hint, issue }: FieldNoteProps) {
  if (id === undefined) return null
  return (
    <small id={id} class={issue ? 'issue' : 'muted'}>
      {issue ?? hint}
    </small>
  )
}

export type Options = readonly (string | readonly [value: string, label: string])[]

interface SelectProps extends FieldProps {
  readonly value: string
  readonly options: Options
  readonly onChange: (value: string) => void
}

export function SelectField({ label, hint, value, options, onChange }: SelectProps) {
  const id = useId()
  const described = hint ? `${id}-hint` : undefined
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={described}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => {
          const [key, text] = typeof option === 'string' ? [option, option] : option
          return (
            <option key={key} value={key} selected={key === value}>
              {text}
            </option>
          )
        })}
      </select>
      <FieldNote id={described} hint={hint} />
    </div>
  )
}

interface CheckProps {
  readonly label: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}

export function CheckField({ label, checked, onChange }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  )
}

interface FormProps {
  readonly onSubmit: () => void
  readonly children: ComponentChildren
  readonly class?: string
  readonly label?: string
}

export function Form({ onSubmit, children, class: className = '', label }: FormProps) {
  return (
    <form
      class={className}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}

export type Values = Readonly<Record<string, unknown>>

/** A field of a form. Values are those of the API, but numbers and JSON are texts while they are edited. */
export interface FieldSpec
  extends Pick<TextProps, 'hint' | 'required' | 'maxLength' | 'min' | 'max' | 'rows' | 'mono'> {
  readonly name: string
  readonly label: string
  /** Default: a text, or a choice if there are options. A check has the second of its options if checked. */
  readonly type?: 'number' | 'datetime-local' | 'json' | 'check'
  readonly options?: Options
  /** What an empty field is. Default: it is left out. */
  readonly empty?: null
  /** Further changes that follow from one of the field. */
  readonly also?: (value: unknown) => Values
  /** For a field of another kind. */
  readonly render?: (value: unknown, set: (value: unknown) => void) => ComponentChildren
}

/** Fields below each other; those in a list, side by side. */
export type FieldSpecs = readonly (FieldSpec | readonly FieldSpec[])[]

/** The fields of a schema of the API, with what a form says more of some. Further ones come last. */
export function fieldsOf(
  schema: keyof typeof FORMS,
  more: Readonly<Record<string, Partial<FieldSpec>>> = {},
): readonly FieldSpec[] {
  const form: typeof more = FORMS[schema]
  return Object.keys({ ...form, ...more }).map((name) => {
    const words = name.replace(/^is_/, '').replaceAll('_', ' ')
    const label = words.charAt(0).toUpperCase() + words.slice(1)
    return { name, label, ...form[name], ...more[name] }
  })
}

interface FieldsProps {
  readonly specs: FieldSpecs
  readonly values: Values
  readonly onChange: (values: Values) => void
}

export function Fields({ specs, values, onChange }: FieldsProps) {
  return specs.map((spec, index) =>
    'name' in spec ? (
      <Field
        key={spec.name}
        spec={spec}
        value={values[spec.name]}
        set={(value) => onChange({ ...values, [spec.name]: value, ...spec.also?.(value) })}
      />
    ) : (
      <div key={index} class="row">
        <Fields specs={spec} values={values} onChange={onChange} />
      </div>
    ),
  )
}

function Field({ spec, value, set }: { spec: FieldSpec; value: unknown; set: (value: unknown) => void }) {
  const { name: _, type = 'text', options, empty, also, render, ...props } = spec
  if (render) return <>{render(value, set)}</>
  if (type === 'check') {
    const [off = false, on = true] = (options ?? []) as readonly string[]
    return <CheckField label={spec.label} checked={value === on} onChange={(is) => set(is ? on : off)} />
  }
  const text = value == null ? '' : String(value)
  if (options) return <SelectField {...props} value={text} options={options} onChange={set} />
  const issue = type === 'json' ? findJsonIssue(text) : undefined
  return (
    <TextField {...props} type={type === 'json' ? 'text' : type} value={text} onInput={set} issue={issue} />
  )
}

/** What the fields show of an object. */
export function toDraftValues(specs: FieldSpecs, object: Values): Values {
  const json = specs.flat().filter(({ type }) => type === 'json')
  return {
    ...object,
    ...Object.fromEntries(json.map(({ name }) => [name, JSON.stringify(object[name] ?? {}, null, 2)])),
  }
}

/** Returns what was entered, as a body of a request; undefined if it is not valid. */
export function toBody(specs: FieldSpecs, values: Values): Values | undefined {
  const entries = specs.flat().map((spec) => [spec.name, toValue(spec, values[spec.name])] as const)
  const isInvalid = specs
    .flat()
    .some(({ type, name }) => type === 'json' && findJsonIssue(String(values[name])))
  return isInvalid ? undefined : Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function toValue({ type, empty }: FieldSpec, value: unknown): unknown {
  if (value == null || value === '') return empty
  if (type === 'number') return Number(value)
  if (type === 'json') return JSON.parse(String(value))
  return type === 'datetime-local' ? new Date(String(value)).toISOString() : value
}

function findJsonIssue(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return undefined
    return 'Must be a JSON object.'
  } catch {
    return 'This is not valid JSON.'
  }
}
