import { GatewayError } from '../contract/index.ts'

/** What `ctx.throw(403, 'Not here.')` of Koa says to the caller, as our error; undefined for what it keeps to itself. */
export function readKoaError(thrown: unknown): GatewayError | undefined {
  if (!(thrown instanceof Error && 'expose' in thrown && 'status' in thrown)) return undefined
  const { expose, status, message } = thrown
  if (expose !== true || typeof status !== 'number' || status < 400 || status > 499) return undefined
  const headers = 'headers' in thrown ? readHeaders(thrown.headers) : {}
  return new GatewayError('refused', message, { status, headers, cause: thrown })
}

function readHeaders(headers: unknown): Record<string, string> {
  if (typeof headers !== 'object' || headers === null) return {}
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
