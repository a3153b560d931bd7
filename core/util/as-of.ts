import { GatewayError, type Position } from '../contract/index.ts'

/** A point in the event log: just after the event at a position, or after the last event up to a time. */
export type AsOf = (
  | { readonly type: 'position'; readonly position: Position }
  /** ISO 8601 UTC with six decimals. */
  | { readonly type: 'time'; readonly time: string }
) & {
  /** Name of the request parameter, for errors. */
  readonly param: string
}

/**
 * Parses a log position, such as `12`, or an ISO 8601 time with a time zone. Throws a `GatewayError` (400)
 * that names the parameter.
 */
export function parseAsOf(value: unknown, param: string): AsOf {
  const text = String(value)
  if (/^\d{1,15}$/.test(text)) return { type: 'position', position: Number(text), param }
  const time = parseTime(text)
  if (time !== undefined) return { type: 'time', time, param }
  throw new GatewayError(
    'invalid_value',
    `${param} must be a log position such as 12, or an ISO 8601 time with a time zone ` +
      'such as 2026-03-01T09:30:00Z.',
    { param },
  )
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)/
const TIME = /T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)/
const TIMESTAMP = new RegExp(`${DATE.source}(?:${TIME.source})?$`, 'i')

/**
 * Returns the time in the format of event times, which compares as text; undefined if it is not a valid time.
 * A date without a time is its first moment in UTC.
 */
export function parseTime(text: string): string | undefined {
  const match = TIMESTAMP.exec(text)
  if (match === null) return undefined
  const [
    ,
    year = '',
    month = '',
    day = '',
    hour = '00',
    minute = '00',
    second = '00',
    fraction = '',
    zone = 'Z',
  ] = match
  if (Number(day) < 1 || Number(day) > daysInMonth(Number(year), Number(month))) return undefined
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone.toUpperCase()}`)
  return `${date.toISOString().slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z`
}

/** Returns 0 if the month is not from 1 to 12. */
function daysInMonth(year: number, month: number): number {
  return month < 1 || month > 12 ? 0 : new Date(Date.UTC(year, month, 0)).getUTCDate()
}
