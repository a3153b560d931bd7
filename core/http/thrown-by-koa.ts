import { GatewayError } from '../contract/index.ts'

/** What `ctx.throw(403, 'Not here.')` of Koa says to the caller, as our error; undefined for what it keeps to itself. */
export function toKoaError(thrown: unknown): GatewayError | undefined {
  if (!(thrown instanceof Error && 'expose' in thrown && 'status' in thrown)) return undefined
  const { expose, status, message } = thrown
  if (expose !== true || typeof status !== 'number' || status < 400 || status > 499) return undefined
  const headers = 'headers' in thrown ? toHeaders(thrown.headers) : {}
  return new GatewayError('refused', message, { status, headers, cause: thrown })
}

function toHeaders(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {}
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
