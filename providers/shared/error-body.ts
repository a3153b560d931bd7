import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { asString } from './fields.ts'

/** The error that a provider describes in a response body. A missing field is an empty string. */
export interface ErrorBody {
  readonly message: string
  readonly type: string
  readonly code: string
  /** The request field that the error is about, such as `messages.0.name`. */
  readonly param: string
}

/** True for a field `error` that reports one. Some providers send an empty one beside a reply. */
export function isReportedError(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > MAX_DEPTH) return Boolean(error)
  return Object.values(error).some((value) => isReportedError(value, depth + 1))
}

/** Errors are not nested deeper. */
const MAX_DEPTH = 8

/**
 * Parses `{error:{message, type, code, param}}` and its variations: an array of it, `{error:"…"}`,
 * `{message}`, `{detail}`. All fields are empty for any other value.
 */
export function parseErrorBody(body: unknown): ErrorBody {
  const fields = errorFieldsOf(body)
  return {
    message: toMessage(fields.message) || toMessage(fields.detail),
    type: asString(fields.type),
    code: toCode(fields.code) || toCode(isJsonObject(fields.innererror) && fields.innererror.code),
    param: asString(fields.param) || findLocation(fields.message ?? fields.detail),
  }
}

/** Azure has the reason in `innererror`, sometimes only there. */
function toCode(code: unknown): string {
  return typeof code === 'number' ? String(code) : asString(code)
}

function errorFieldsOf(body: unknown): JsonObject {
  const outer: unknown = Array.isArray(body) ? body[0] : body
  const error = isJsonObject(outer) ? (outer.error ?? outer) : undefined
  return isJsonObject(error) ? error : { message: error }
}

/**
 * The text of an error message, which is a string, or what a validator reports in its place: an array of
 * `{loc, msg}`, or an object with such an array in `detail` (docs/providers.md, "Mistral"). Empty if
 * there is none.
 */
function toMessage(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) return ''
  if (Array.isArray(value))
    return value
      .map((item) => toMessage(item, depth + 1))
      .filter(Boolean)
      .join('; ')
  if (!isJsonObject(value)) return asString(value)
  const text = asString(value.msg)
  if (text === '') return toMessage(value.detail ?? value.message, depth + 1)
  const location = toLocation(value)
  return location === '' ? text : `${location}: ${text}`
}

/** The request field of a validator's first issue, such as `messages.0.name`; empty if it names none. */
function findLocation(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH) return ''
  if (Array.isArray(value)) return findLocation(value[0], depth + 1)
  if (!isJsonObject(value)) return ''
  return Array.isArray(value.loc) ? toLocation(value) : findLocation(value.detail, depth + 1)
}

function toLocation({ loc }: JsonObject): string {
  return Array.isArray(loc) ? loc.filter((step) => step !== 'body').join('.') : ''
}

/**
 * Returns the field of the canonical request that a provider's format has at a path, such as
 * `messages.0.content`. `names` holds the canonical fields by path, without indexes; the longest path that
 * the given one begins with counts. Places in lists are left out, because conversions move them.
 */
export function findParam(path: string, names: ReadonlyMap<string, string>): string | undefined {
  const plain = path.replace(/\[\d+\]|\.\d+(?=\.|$)/g, '')
  for (let end = plain.length; end > 0; end = plain.lastIndexOf('.', end - 1)) {
    const name = names.get(plain.slice(0, end))
    if (name !== undefined) return name
  }
  return undefined
}
