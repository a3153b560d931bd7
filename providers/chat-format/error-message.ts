import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { readString } from '../read-fields.ts'

/**
 * The words of an error's message: a string, or what validators send in its place, a list of `{loc, msg}` or an object
 * with such a list as `detail` (reference 7.4). Empty when there are none.
 */
export function readMessage(value: unknown): string {
  if (Array.isArray(value)) return value.map(readMessage).filter(Boolean).join('; ')
  if (!isJsonObject(value)) return readString(value)
  const said = readString(value.msg)
  if (said === '') return readMessage(value.detail ?? value.message)
  const place = readPlace(value)
  return place === '' ? said : `${place}: ${said}`
}

/** The request field that a validator complains about first, such as `messages.0.name`; empty when it names none. */
export function findPlace(value: unknown): string {
  if (Array.isArray(value)) return findPlace(value[0])
  if (!isJsonObject(value)) return ''
  return Array.isArray(value.loc) ? readPlace(value) : findPlace(value.detail)
}

function readPlace({ loc }: JsonObject): string {
  return Array.isArray(loc) ? loc.filter((step) => step !== 'body').join('.') : ''
}
