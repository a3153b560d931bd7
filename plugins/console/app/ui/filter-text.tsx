import { useEffect, useState } from 'preact/hooks'
import { setQuery } from '../lib/router.ts'
import { TextField } from './fields.tsx'

interface FilterTextProps {
  readonly name: string
  readonly label?: string
  readonly value: string
  readonly placeholder?: string
}

/** A filter in the address. It applies when the text has been entered, not with every letter. */
export function FilterText({ name, label = name, value, placeholder = '' }: FilterTextProps) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        setQuery({ [name]: text })
      }}
      onFocusOut={() => text !== value && setQuery({ [name]: text })}
    >
      <TextField label={label} value={text} onInput={setText} placeholder={placeholder} />
    </form>
  )
}
