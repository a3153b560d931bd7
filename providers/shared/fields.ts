import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'

/** The string, or an empty one for anything else. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The number; undefined for anything else. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

/** The object, or an empty one for anything else. */
export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** The objects of a list; none for anything else. */
export function asObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

/** What a JSON text holds; undefined when it is none: proxies in front of a provider answer with HTML, or with nothing. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The object that a JSON text holds; undefined when it holds none. */
export function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isJsonObject(value) ? value : undefined
}

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
