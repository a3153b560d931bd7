import { decodePercent } from './data-url.ts'

/** Servers decode a URL once, and some that pass it on once more. */
const MAX_DECODINGS = 3

/**
 * Rewrites a URL that a provider fetches, as it stands and percent-decoded. A URL whose decoded form
 * changes is encoded again.
 */
export function rewriteUrl(url: string, rewrite: (text: string) => string): string {
  let rewritten = rewrite(url)
  if (!ENCODED.test(url)) return rewritten
  for (const decoded of decodedForms(url)) {
    const text = rewrite(decoded)
    if (text !== decoded) rewritten = encodeURI(text.toWellFormed())
  }
  return rewritten
}

const ENCODED = /%[\da-f]{2}|\+/i

function decodedForms(url: string): readonly string[] {
  const forms: string[] = []
  // In a query, `+` is a space for most servers.
  for (const form of url.includes('+') ? [url, url.replaceAll('+', ' ')] : [url]) {
    let decoded = form
    for (let round = 0; round < MAX_DECODINGS; round++) {
      const next = decodePercent(decoded, 'utf8')
      if (next === decoded) break
      decoded = next
      forms.push(decoded)
    }
    if (form !== url && decoded === form) forms.push(form)
  }
  return forms
}
