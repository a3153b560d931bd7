import { type EndpointResponse, GatewayError } from '../../../core/contract/index.ts'

const FORM = 'application/x-www-form-urlencoded'

export const formBody = { types: [FORM], maxBytes: 16 * 1024 }

/** Parses a form; undefined for a body of another type, or a field that comes twice. */
export function parseForm(body: unknown, type: string | undefined): ReadonlyMap<string, string> | undefined {
  if (!Buffer.isBuffer(body)) throw new GatewayError('internal_error', 'The body of a form was not read.')
  if (body.length > 0 && type?.split(';')[0]?.trim().toLowerCase() !== FORM) return undefined
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(body.toString())) {
    if (fields.has(name)) return undefined
    fields.set(name, value)
  }
  return fields
}

/** An answer of an OAuth endpoint (RFC 6749, 5.1 and 5.2). The security headers forbid to store it, too. */
export function oauthAnswer(status: number, body: object): EndpointResponse {
  return { status, headers: { pragma: 'no-cache' }, body }
}
