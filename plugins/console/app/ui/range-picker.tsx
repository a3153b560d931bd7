import { useState } from 'preact/hooks'
import { describeRange, hasRange, isUtc, setRange, useRange } from '../lib/range.ts'
import { route, setQuery } from '../lib/router.ts'
import {
  DEFAULT_FROM,
  fromFieldValue,
  monthRange,
  PRESETS,
  type RangeTexts,
  resolveRange,
  shiftRange,
  type TimeRange,
  toFieldValue,
} from '../lib/time-range.ts'
import { Form, SelectField, TextField } from './fields.tsx'
import { usePopup } from './popup.tsx'

interface RangePickerProps {
  /** Whether the page shows all of the past without a range in the address. */
  readonly hasAll?: boolean
}

/** Chooses the range of time that all pages share. */
export function RangePicker({ hasAll = false }: RangePickerProps) {
  const { root, button, isOpen, toggle, close } = usePopup()
  const range = useRange()
  const isAll = hasAll && !hasRange()
  const later = shiftRange(range, 1)
  return (
    <div ref={root} class="range-picker">
      {!isAll && (
        <button type="button" aria-label="Earlier" onClick={() => setRange(shiftRange(range, -1) ?? {})}>
          ‹
        </button>
      )}
      <button ref={button} type="button" aria-haspopup="dialog" aria-expanded={isOpen} onClick={toggle}>
        <span class="hidden">Range: </span>
        {isAll ? 'All time' : describeRange()}
        {isUtc.value && <small class="muted">UTC</small>}
        <span aria-hidden="true">▾</span>
      </button>
      {!isAll && (
        <button
          type="button"
          aria-label="Later"
          disabled={later === undefined}
          onClick={() => setRange(later ?? {})}
        >
          ›
        </button>
      )}
      {isOpen && (
        <div class="popup" role="dialog" aria-label="Range of time">
          <Presets hasAll={hasAll} onChosen={close} />
          <CustomRange key={`${range.since}${range.until}${isUtc.value}`} range={range} onChosen={close} />
        </div>
      )}
    </div>
  )
}

const MONTHS = ['This month', 'Last month']

function Presets({ hasAll, onChosen }: { readonly hasAll: boolean; readonly onChosen: () => void }) {
  const { query } = route.value
  const current = hasRange() ? query.get('from') : hasAll ? '' : DEFAULT_FROM
  const to = query.get('to') ?? undefined
  const months = MONTHS.map((label, before) => [monthRange(before, isUtc.value), label] as const)
  const presets: readonly (readonly [range: RangeTexts, label: string])[] = [
    ...PRESETS.map(([from, label]) => [{ from }, label] as const),
    ...months,
    ...(hasAll ? [[{ from: '' }, 'All time'] as const] : []),
  ]
  return (
    <fieldset class="presets" aria-label="Presets">
      {presets.map(([range, label]) => (
        <button
          key={label}
          type="button"
          aria-pressed={range.from === current && range.to === to}
          onClick={() => {
            setRange(range)
            onChosen()
          }}
        >
          {label}
        </button>
      ))}
    </fieldset>
  )
}

const ZONES = [
  ['', `Local (${Intl.DateTimeFormat().resolvedOptions().timeZone})`],
  ['utc', 'UTC'],
] as const

interface CustomRangeProps {
  readonly range: TimeRange
  readonly onChosen: () => void
}

function CustomRange({ range, onChosen }: CustomRangeProps) {
  const [from, setFrom] = useState(toFieldValue(range.since, isUtc.value))
  const [to, setTo] = useState(toFieldValue(range.until ?? new Date().toISOString(), isUtc.value))
  const [since, until] = [from, to].map((value) => fromFieldValue(value, isUtc.value))
  const isReversed = since !== undefined && until !== undefined && since >= until
  function apply(): void {
    if (since === undefined || isReversed) return
    const resolved = resolveRange({ from: since, to: until }, isUtc.value)
    setRange({ from: resolved.since, to: resolved.until })
    onChosen()
  }
  return (
    <Form label="Custom range" onSubmit={apply}>
      <TextField label="From" type="datetime-local" required value={from} onInput={setFrom} />
      <TextField
        label="To"
        type="datetime-local"
        value={to}
        onInput={setTo}
        issue={isReversed ? 'The end must be after the start.' : undefined}
      />
      <SelectField
        label="Zone"
        value={isUtc.value ? 'utc' : ''}
        options={ZONES}
        onChange={(zone) => setQuery({ zone })}
      />
      <button type="submit" class="primary">
        Apply
      </button>
    </Form>
  )
}
