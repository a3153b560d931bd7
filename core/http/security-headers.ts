export type HttpHeader = readonly [name: string, value: string]

/** On every answer: nobody keeps it, and no browser takes it for a page. */
const ALWAYS: readonly HttpHeader[] = [
  ['cache-control', 'no-store'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['referrer-policy', 'no-referrer'],
  ['x-content-type-options', 'nosniff'],
]

/** Made once per server. Browsers heed HSTS over TLS only, so it is for those who have TLS in front. */
export function listSecurityHeaders(hstsSeconds?: number | null): readonly HttpHeader[] {
  if (typeof hstsSeconds !== 'number') return ALWAYS
  return [...ALWAYS, ['strict-transport-security', `max-age=${hstsSeconds}`]]
}
