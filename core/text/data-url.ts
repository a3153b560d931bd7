/** The content of a `data:` URL. */
export interface DataUrl {
  /** In lower case and without parameters; empty if the URL has none. */
  readonly mediaType: string
  readonly base64: string
}

/**
 * Parses a `data:` URL as browsers do (https://fetch.spec.whatwg.org/#data-url-processor). Returns undefined
 * for any other text. Rules and provider adapters use the same parser, so that rules inspect what the
 * provider receives.
 */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',')
  if (comma === -1 || !/^\s*data:/i.test(url)) return undefined
  const head = url.slice(0, comma).trimStart().slice('data:'.length)
  const [mediaType = '', ...parameters] = head.toLowerCase().split(';')
  const data = url.slice(comma + 1)
  const isBase64 = parameters.at(-1)?.trim() === 'base64'
  const base64 = isBase64 && !data.includes('%') ? data : decodePercent(data, isBase64 ? 'latin1' : 'base64')
  return { mediaType: mediaType.trim(), base64 }
}

/** A `%` without two hexadecimal digits stands for itself. */
function decodePercent(text: string, encoding: 'latin1' | 'base64'): string {
  const bytes = Buffer.from(text)
  let length = 0
  for (let index = 0; index < bytes.length; index++) {
    let byte = bytes[index] as number
    const digits = byte === PERCENT ? bytes.toString('latin1', index + 1, index + 3) : ''
    if (/^[\da-f]{2}$/i.test(digits)) {
      byte = Number.parseInt(digits, 16)
      index += 2
    }
    bytes[length++] = byte
  }
  return bytes.toString(encoding, 0, length)
}

const PERCENT = 0x25
