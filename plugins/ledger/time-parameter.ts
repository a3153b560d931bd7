import { invalidParameterError } from '../../core/http/parse-call.ts'
import { parseTime } from '../../core/util/as-of.ts'

/** Returns the Unix time in milliseconds. Throws 400 that names the parameter. */
function parseTimeParameter(text: string, param: string): number {
  const time = parseTime(text)
  if (time !== undefined) return Date.parse(time)
  const example = 'an ISO 8601 time with a time zone such as 2026-03-01T09:30:00Z, or a date'
  throw invalidParameterError(param, `${param} must be ${example}.`)
}

/** Returns the limits that are given, as Unix times in milliseconds. Throws 400 that names the parameter. */
export function parseTimeRange(query: { readonly since?: string; readonly until?: string }): {
  readonly since?: number
  readonly until?: number
} {
  const since = query.since === undefined ? undefined : parseTimeParameter(query.since, 'since')
  const until = query.until === undefined ? undefined : parseTimeParameter(query.until, 'until')
  if (since !== undefined && until !== undefined && since > until)
    throw invalidParameterError('since', 'since must not be after until.')
  return { ...(since !== undefined && { since }), ...(until !== undefined && { until }) }
}
