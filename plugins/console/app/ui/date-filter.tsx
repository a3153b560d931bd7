import { setQuery } from '../lib/router.ts'
import { TextField } from './fields.tsx'

const DAY_MS = 86_400_000

interface DateFilterProps {
  /** Parameter of the address. It has the time when the day begins here, or for an end, when it is over. */
  readonly name: string
  readonly value: string
  readonly isEnd?: boolean
}

/** A filter by day, in the zone of the viewer. Positions of the log, which links may have, are not days. */
export function DateFilter({ name, value, isEnd = false }: DateFilterProps) {
  return (
    <TextField
      label={name}
      type="date"
      value={toDay(value, isEnd)}
      onInput={(day) => setQuery({ [name]: toTime(day, isEnd) })}
    />
  )
}

function toDay(value: string, isEnd: boolean): string {
  const time = /^\d+$/.test(value) ? Number.NaN : Date.parse(value)
  if (Number.isNaN(time)) return ''
  const date = new Date(isEnd ? time - 1 : time)
  const parts = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
  return parts.map((part, index) => String(part).padStart(index === 0 ? 4 : 2, '0')).join('-')
}

function toTime(day: string, isEnd: boolean): string | undefined {
  const start = new Date(`${day}T00:00`)
  if (Number.isNaN(start.getTime())) return undefined
  // A day may have 23 or 25 hours.
  const next = new Date(start.getTime() + DAY_MS * 1.5)
  const end = new Date(next.getFullYear(), next.getMonth(), next.getDate())
  return (isEnd ? end : start).toISOString()
}
