import { invalidParameterError } from '../../core/http/parse-call.ts'
import { parseTime } from '../../core/util/as-of.ts'

/** Returns the Unix time in milliseconds. Throws 400 that names the parameter. */
export function parseTimeParameter(text: string, param: string): number {
  const time = parseTime(text)
  if (time !== undefined) return Date.parse(time)
  const example = 'an ISO 8601 time with a time zone such as 2026-03-01T09:30:00Z, or a date'
  throw invalidParameterError(param, `${param} must be ${example}.`)
}
