import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'

/** Returns a string as it is, and an empty string for any other value. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns a number as it is, and undefined for any other value. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** Returns an object as it is, and an empty object for any other value. */
export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** Returns the objects in an array, and an empty array for any other value. */
export function asObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** The content of a `data:` URL. */
export interface DataUrl {
  /** In lower case and without parameters; empty if the URL has none. */
  readonly mediaType: string
  readonly base64: string
}

/** Parses a `data:` URL (RFC 2397). Returns undefined for any other text. */
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
