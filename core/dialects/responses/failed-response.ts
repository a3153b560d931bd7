import { type GatewayError, isJsonObject, type JsonObject } from '../../contract/index.ts'
import { formatError } from '../../http/errors.ts'

/** The values of `error.code` that OpenAI's description of responses has; strict clients read no others. */
export const RESPONSE_ERROR_CODES = [
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
  const { message } = error
  return {
    ...initial,
    status: 'failed',
    output: toEndedItems(output),
    error: { code: toResponseErrorCode(error), message },
    signalbox,
  }
}

/** Returns the items of a response that ended early. No item remains in progress. */
export function toEndedItems(items: readonly JsonObject[]): readonly JsonObject[] {
  return items.map((item) => (item.status === 'in_progress' ? { ...item, status: 'incomplete' } : item))
}

function toResponseErrorCode({ wireCode, status }: GatewayError): ResponseErrorCode {
  const code = RESPONSE_ERROR_CODES.find((name) => name === wireCode)
  if (code !== undefined) return code
  if (status === 429) return 'rate_limit_exceeded'
  return status < 500 ? 'invalid_prompt' : 'server_error'
}
