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
export function isReportedError(error: unknown): boolean {
  if (isJsonObject(error)) return Object.values(error).some(isReportedError)
  return Array.isArray(error) ? error.some(isReportedError) : Boolean(error)
}

/**
 * Parses `{error:{message, type, code, param}}` and its variations: an array of it, `{error:"…"}`,
 * `{message}`, `{detail}`. All fields are empty for any other value.
 */
export function parseErrorBody(body: unknown): ErrorBody {
  const fields = errorFieldsOf(body)
  return {
    message: toMessage(fields.message) || toMessage(fields.detail),
    type: asString(fields.type),
    code: typeof fields.code === 'number' ? String(fields.code) : asString(fields.code),
    param: asString(fields.param) || findLocation(fields.message ?? fields.detail),
  }
}

function errorFieldsOf(body: unknown): JsonObject {
  const outer: unknown = Array.isArray(body) ? body[0] : body
  const error = isJsonObject(outer) ? (outer.error ?? outer) : undefined
  return isJsonObject(error) ? error : { message: error }
}

/**
 * The text of an error message, which is a string, or what a validator reports in its place: an array of
 * `{loc, msg}`, or an object with such an array in `detail` (docs/providers.md, "Mistral errors"). Empty if
 * there is none.
 */
function toMessage(value: unknown): string {
  if (Array.isArray(value)) return value.map(toMessage).filter(Boolean).join('; ')
  if (!isJsonObject(value)) return asString(value)
  const text = asString(value.msg)
  if (text === '') return toMessage(value.detail ?? value.message)
  const location = toLocation(value)
  return location === '' ? text : `${location}: ${text}`
}

/** The request field of a validator's first issue, such as `messages.0.name`; empty if it names none. */
function findLocation(value: unknown): string {
  if (Array.isArray(value)) return findLocation(value[0])
  if (!isJsonObject(value)) return ''
  return Array.isArray(value.loc) ? toLocation(value) : findLocation(value.detail)
}

function toLocation({ loc }: JsonObject): string {
  return Array.isArray(loc) ? loc.filter((step) => step !== 'body').join('.') : ''
}
