import type { ContentPart } from '../../core/contract/chat.ts'
import { parseDataUrl } from '../../core/inspection/data-url.ts'
import { asObject, asString } from './fields.ts'
import { invalidValueError, unsupportedParameterError } from './request-errors.ts'

/** A file part: its content, where it is, or its id at one provider. */
export type FileSource = { readonly name: string } & (
  | { readonly type: 'data'; readonly mediaType: string; readonly base64: string }
  | { readonly type: 'url'; readonly url: string }
  | { readonly type: 'id'; readonly id: string }
)

/**
 * Parses a `file` part. Its data is a data URL, Base64 (of a PDF, or of what the name says), or a URL. `path`
 * is the location of the part, for errors.
 */
export function parseFilePart(part: ContentPart, path: string): FileSource {
  const { file_data, file_url, file_id, filename } = asObject(part.file)
  const name = asString(filename)
  const data = asString(file_data)
  const url = asString(file_url) || (HTTP_URL.test(data) ? data : '')
  if (url !== '') {
    if (HTTP_URL.test(url)) return { type: 'url', url, name }
    throw invalidValueError(`${path}.file.file_url`, 'must be an http or https URL.')
  }
  if (data === '') {
    const id = asString(file_id)
    if (id !== '') return { type: 'id', id, name }
    throw unsupportedParameterError(`${path}.file`, 'must have file_data, file_url or file_id.')
  }
  const parsed = parseDataUrl(data)
  if (parsed !== undefined) return { type: 'data', ...parsed, name }
  if (BASE64.test(data)) return { type: 'data', mediaType: mediaTypeOf(name), base64: data, name }
  throw invalidValueError(`${path}.file.file_data`, 'must be a data URL, a URL, or Base64.')
}

/** The data URL of a file. */
export function toDataUrl({
  mediaType,
  base64,
}: {
  readonly mediaType: string
  readonly base64: string
}): string {
  return `data:${mediaType};base64,${base64}`
}

/** The error for a file that the provider cannot get in this form. */
export function unsupportedFileError(provider: string, path: string, { type }: FileSource): Error {
  const field = { data: 'file_data', url: 'file_url', id: 'file_id' }[type]
  return unsupportedParameterError(
    `${path}.file.${field}`,
    `is not supported by ${provider}. Send the file in another form, or use another model.`,
  )
}

const HTTP_URL = /^https?:\/\//i

/** The beginning decides: files are large. */
const BASE64 = /^[\w+/=-]{1,64}/

function mediaTypeOf(name: string): string {
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  return MEDIA_TYPES.get(extension) ?? 'application/pdf'
}

const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ...['txt', 'md', 'csv', 'log'].map((extension) => [extension, 'text/plain'] as const),
  ['html', 'text/html'],
  ['json', 'application/json'],
])
