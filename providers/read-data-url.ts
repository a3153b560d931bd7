/** What a `data:` URL holds: its media type, lower case and without parameters, and the bytes as base64. */
export interface DataUrl {
  readonly mediaType: string
  readonly base64: string
}

/** Reads a `data:` URL (RFC 2397); undefined for any other text. */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',')
  if (comma === -1 || !/^data:/i.test(url)) return undefined
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).toLowerCase().split(';')
  const data = url.slice(comma + 1)
  const base64 = parameters.at(-1)?.trim() === 'base64' ? data : encode(data)
  return base64 === undefined ? undefined : { mediaType: mediaType.trim(), base64 }
}

function encode(text: string): string | undefined {
  try {
    return Buffer.from(decodeURIComponent(text)).toString('base64')
  } catch {
    return undefined
  }
}
