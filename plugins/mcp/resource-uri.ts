/** A URI that is escaped more often is decoded by nobody. */
const MAX_DECODED = 3

/**
 * Returns the URI and the other forms in which a server may read it: decoded, without `..`, with its scheme
 * and host in lower case. Rules name one form, and callers could send another one.
 */
export function formsOfUri(uri: string): readonly string[] {
  const forms = new Set([uri])
  let decoded = uri
  for (let round = 0; round <= MAX_DECODED; round++) {
    forms.add(decoded)
    forms.add(normalizeUri(decoded))
    const next = decodeUri(decoded)
    if (next === decoded) break
    decoded = next
  }
  return [...forms]
}

function normalizeUri(uri: string): string {
  if (!URL.canParse(uri)) return uri
  const url = new URL(uri)
  if (url.host === '' && !url.pathname.startsWith('/')) return url.href
  url.username = ''
  url.password = ''
  url.pathname = url.pathname.replaceAll(/\/{2,}/g, '/')
  return url.href
}

/** Escapes that are no UTF-8 stay. */
function decodeUri(uri: string): string {
  return uri.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escaped) => {
    try {
      return decodeURIComponent(escaped)
    } catch {
      return escaped
    }
  })
}
