import { type GatewayError, isJsonObject, type JsonObject } from '../../contract/index.ts'
import { toWords } from '../../http/error-words.ts'
import { formatError } from '../../http/errors.ts'

/**
 * The values of `error.code` that OpenAI's description of responses has, and those that OpenAI sends besides:
 * Codex reads these.
 */
export const RESPONSE_ERROR_CODES = [
  'context_length_exceeded',
  'insufficient_quota',
  'server_is_overloaded',
  'server_error',
  'rate_limit_exceeded',
  'invalid_prompt',
  'data_residency_mismatch',
  'bio_policy',
  'vector_store_timeout',
  'invalid_image',
  'invalid_image_format',
  'invalid_base64_image',
  'invalid_image_url',
  'image_too_large',
  'image_too_small',
  'image_parse_error',
  'image_content_policy_violation',
  'invalid_image_mode',
  'image_file_too_large',
  'unsupported_image_media_type',
  'empty_image_file',
  'failed_to_download_image',
  'image_file_not_found',
] as const

type ResponseErrorCode = (typeof RESPONSE_ERROR_CODES)[number]

/**
 * Converts an initial response to a failed one, with the output up to the failure. `signalbox.error` is the
 * error as another endpoint would answer it.
 */
export function toFailedResponse(
  initial: JsonObject,
  error: GatewayError,
  output: readonly JsonObject[] = [],
): JsonObject {
  const { error: details } = formatError(error, 'openai')
  const signalbox = { ...(isJsonObject(initial.signalbox) && initial.signalbox), error: details }
  const { code, message } = toWords(error, 'openai')
  return {
    ...initial,
    status: 'failed',
    output: toEndedItems(output),
    error: { code: toResponseErrorCode(code, error.status), message },
    signalbox,
  }
}

/** Returns the items of a response that ended early. No item remains in progress. */
export function toEndedItems(items: readonly JsonObject[]): readonly JsonObject[] {
  return items.map((item) => (item.status === 'in_progress' ? { ...item, status: 'incomplete' } : item))
}

function toResponseErrorCode(code: string, status: number): ResponseErrorCode {
  const known = RESPONSE_ERROR_CODES.find((name) => name === code)
  if (known !== undefined) return known
  if (status === 429) return 'rate_limit_exceeded'
  return status < 500 ? 'invalid_prompt' : 'server_error'
}
