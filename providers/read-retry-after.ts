import type { ProviderErrorResponse } from '../core/contract/provider.ts'

/** Whole seconds, at least 1, from `retry-after-ms` or `retry-after` (seconds or a date); undefined without either. */
export function parseRetryAfter(
  headers: ProviderErrorResponse['headers'],
  now = Date.now(),
): number | undefined {
  const milliseconds = readNumber(headers['retry-after-ms']) ?? readDelay(headers['retry-after'], now)
  return milliseconds === undefined ? undefined : Math.max(1, Math.ceil(milliseconds / 1000))
}

type Header = string | string[] | undefined

function readDelay(header: Header, now: number): number | undefined {
  const seconds = readNumber(header)
  if (seconds !== undefined) return seconds * 1000
  const date = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : date - now
}

function readNumber(header: Header): number | undefined {
  return typeof header === 'string' && /^\d+(\.\d+)?$/.test(header.trim()) ? Number(header) : undefined
}
