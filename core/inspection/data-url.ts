/** The content of a `data:` URL. */
interface DataUrl {
  /** In lower case and without parameters; empty if the URL has none. */
  readonly mediaType: string
  readonly base64: string
}

/**
 * Parses a `data:` URL as browsers do (https://fetch.spec.whatwg.org/#data-url-processor), except that
 * `base64` may be any of the parameters. Returns undefined for any other text. Rules and provider adapters
 * use the same parser, so that rules inspect what the provider receives.
 */
export function parseDataUrl(url: string): DataUrl | undefined {
  const comma = url.indexOf(',')
  if (comma === -1 || !/^\s*data:/i.test(url)) return undefined
  const head = url.slice(0, comma).trimStart().slice('data:'.length)
  const [mediaType = '', ...parameters] = head.toLowerCase().split(';')
  const data = url.slice(comma + 1)
  const isBase64 = parameters.some((parameter) => parameter.trim() === 'base64')
  const base64 = isBase64 && !data.includes('%') ? data : decodePercent(data, isBase64 ? 'latin1' : 'base64')
  return { mediaType: mediaType.trim(), base64 }
}

const IMAGE_STARTS: readonly (readonly [RegExp, string])[] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  [/^UklGR.{7}RUJQ/, 'image/webp'],
]

/** Returns the media type of an image by how its base64 begins; undefined for other data. */
export function imageTypeOf(base64: string): string | undefined {
  const found = IMAGE_STARTS.find(([start]) => start.test(base64))
  return found?.[1]
}

/** A `%` without two hexadecimal digits stands for itself. */
export function decodePercent(text: string, encoding: 'latin1' | 'base64' | 'utf8'): string {
  const bytes = Buffer.from(text)
  let length = 0
  for (let index = 0; index < bytes.length; index++) {
    let byte = bytes[index] as number
    const decoded = byte === PERCENT ? hexValue(bytes[index + 1]) * 16 + hexValue(bytes[index + 2]) : -1
    if (decoded >= 0) {
      byte = decoded
      index += 2
    }
    bytes[length++] = byte
  }
  return bytes.toString(encoding, 0, length)
}

const PERCENT = 0x25

/** Of the code of a hexadecimal digit; negative for other characters. */
function hexValue(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1000
}
