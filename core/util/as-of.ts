import { GatewayError, type Position } from '../contract/index.ts'

/** A moment in the log: just after the event at a position, or after the last event that is not later than a time. */
export type AsOf = (
  | { readonly type: 'position'; readonly position: Position }
  | { readonly type: 'time'; readonly time: string }
) & {
  /** What the caller calls it: the name of the parameter. */
  readonly param: string
}

const TIMESTAMP =
  /^(\d{4})-(\d\d)-(\d\d)(?:T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?$/i

/** Reads a log position, such as `12`, or an ISO 8601 time with its zone; throws 400 that names the parameter. */
export function parseAsOf(value: unknown, param: string): AsOf {
  const text = String(value)
  if (/^\d{1,15}$/.test(text)) return { type: 'position', position: Number(text), param }
  const time = readTime(text)
  if (time !== undefined) return { type: 'time', time, param }
  throw new GatewayError(
    'invalid_value',
    `${param} must be a log position such as 12, or an ISO 8601 time with its zone such as 2026-03-01T09:30:00Z.`,
    { param },
  )
}

/** A time as events carry it, so that texts compare as times do. A day alone is its first moment, in UTC. */
function readTime(text: string): string | undefined {
  const found = TIMESTAMP.exec(text)
  if (found === null) return undefined
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
  ] = found
  if (Number(day) < 1 || Number(day) > daysIn(Number(year), Number(month))) return undefined
  const whole = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone.toUpperCase()}`)
  return `${whole.toISOString().slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z`
}

/** 0 for a month that there is not. */
function daysIn(year: number, month: number): number {
  return month < 1 || month > 12 ? 0 : new Date(Date.UTC(year, month, 0)).getUTCDate()
}
