import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly issue?: string | undefined
}

interface TextProps extends FieldProps {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'password' | 'number' | 'search' | 'date' | 'datetime-local'
  readonly rows?: number
  readonly required?: boolean
  readonly autoComplete?: string
  readonly placeholder?: string
  readonly maxLength?: number
  readonly mono?: boolean
}

/** A labelled text field; with `rows`, one of several lines. */
export function TextField(props: TextProps) {
  const { label, hint, issue, value, onInput, type = 'text', rows, required, mono } = props
  const { autoComplete = 'off', placeholder, maxLength } = props
  const id = useId()
  const described = issue || hint ? `${id}-hint` : undefined
  const common = {
    id,
    value,
    required,
    placeholder,
    maxLength,
    class: mono ? 'mono' : '',
    'aria-describedby': described,
    'aria-invalid': issue !== undefined,
    onInput: (event: { currentTarget: { value: string } }) => onInput(event.currentTarget.value),
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        <input {...common} {...toInputType(type)} autoComplete={autoComplete} spellcheck={false} />
      ) : (
        <textarea {...common} rows={rows} spellcheck={false} />
      )}
      <FieldNote id={described} hint={hint} issue={issue} />
    </div>
  )
}

/** Preact types the fields of each type of input separately; these have the same ones. */
function toInputType(type: TextProps['type']): { readonly type: 'text' } {
  return { type: type as 'text' }
}

interface FieldNoteProps {
  readonly id: string | undefined
  readonly hint: ComponentChildren
  readonly issue: string | undefined
}

export function FieldNote({ id, hint, issue }: FieldNoteProps) {
  if (id === undefined) return null
  return (
    <small id={id} class={issue ? 'issue' : 'muted'}>
      {issue ?? hint}
    </small>
  )
}

interface SelectProps extends FieldProps {
  readonly value: string
  readonly options: readonly (string | readonly [value: string, label: string])[]
  readonly onChange: (value: string) => void
}

export function SelectField({ label, hint, issue, value, options, onChange }: SelectProps) {
  const id = useId()
  const described = issue || hint ? `${id}-hint` : undefined
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
      <FieldNote id={described} hint={hint} issue={issue} />
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
