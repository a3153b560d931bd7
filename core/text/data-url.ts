/** The content of a `data:` URL. */
export interface DataUrl {
  /** In lower case and without parameters; empty if the URL has none. */
  readonly mediaType: string
  readonly base64: string
}

/**
 * Parses a `data:` URL (RFC 2397). Returns undefined for any other text. Rules and provider adapters use the
 * same parser, so that rules inspect what the provider receives.
 */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',')
  if (comma === -1 || !/^data:/i.test(url)) return undefined
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).toLowerCase().split(';')
  const data = url.slice(comma + 1)
  const base64 = parameters.at(-1)?.trim() === 'base64' ? data : percentDecodedToBase64(data)
  return base64 === undefined ? undefined : { mediaType: mediaType.trim(), base64 }
}

function percentDecodedToBase64(text: string): string | undefined {
  try {
    return Buffer.from(decodeURIComponent(text)).toString('base64')
  } catch {
    return undefined
  }
}
