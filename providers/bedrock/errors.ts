import type { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { ProviderErrorResponse } from '../../core/contract/provider.ts'
import { parseJson } from '../../core/util/json.ts'
import { createErrorParser, type ProviderErrorBody, type ProviderErrorCode } from '../shared/errors.ts'
import { asObject, asString } from '../shared/fields.ts'

const { parseResponse, parseRecord } = createErrorParser<ProviderErrorBody>({
  parseBody(value) {
    const body = asObject(value)
    const message = asString(body.message) || asString(body.Message)
    const logCode = nameOf(asString(body.__type))
    return { message: isWithoutAccess(logCode, message) ? WITHOUT_ACCESS : message, logCode }
  },
  classify: (_, { logCode, message }) => classify(logCode, message),
  toDetails: () => ({}),
  toStatus: ({ logCode }) => STATUSES.get(logCode) ?? 500,
})

/** Parses a record of a stream that reports an exception. */
export function parseBedrockException(record: JsonObject): GatewayError {
  return parseRecord(record)
}

/** The name of the exception is in a header. */
export function parseBedrockError(failure: ProviderErrorResponse): GatewayError {
  const type = failure.headers['x-amzn-errortype']
  const body = parseJson(failure.body)
  if (typeof type !== 'string' || !isJsonObject(body)) return parseResponse(failure)
  return parseResponse({ ...failure, body: JSON.stringify({ ...body, __type: type }) })
}

/** `com.amazon.coral.service#ThrottlingException:http://…`; in streams, names begin in lower case. */
function nameOf(type: string): string {
  const [name = ''] = type.slice(type.lastIndexOf('#') + 1).split(':', 1)
  return name.charAt(0).toUpperCase() + name.slice(1)
}

const CODES: ReadonlyMap<string, ProviderErrorCode> = new Map<string, ProviderErrorCode>([
  ['ThrottlingException', 'provider_rate_limited'],
  ['TooManyRequestsException', 'provider_rate_limited'],
  ['ServiceQuotaExceededException', 'provider_quota_exceeded'],
  ['ExpiredTokenException', 'provider_authentication_error'],
  ['ExpiredToken', 'provider_authentication_error'],
  ['RequestExpired', 'provider_authentication_error'],
  ['InvalidSignatureException', 'provider_authentication_error'],
  ['IncompleteSignatureException', 'provider_authentication_error'],
  ['MissingAuthenticationTokenException', 'provider_authentication_error'],
  ['UnrecognizedClientException', 'provider_authentication_error'],
  ['ResourceNotFoundException', 'model_not_found'],
  ['ModelNotReadyException', 'provider_overloaded'],
  ['ServiceUnavailableException', 'provider_overloaded'],
  ['ModelTimeoutException', 'provider_timeout'],
  ['ModelErrorException', 'provider_error'],
  ['ModelStreamErrorException', 'provider_error'],
  ['InternalServerException', 'provider_error'],
])

function classify(name: string, message: string): ProviderErrorCode | undefined {
  if (name === 'ThrottlingException' && /\bper day\b/i.test(message)) return 'provider_quota_exceeded'
  if (name === 'AccessDeniedException' && message === WITHOUT_ACCESS) return 'model_not_found'
  if (name === 'ValidationException' && INVALID_MODEL.test(message)) return 'model_not_found'
  return CODES.get(name)
}

/** "You don't have access to the model with the specified model ID.", "Model access is denied due to …" */
const NO_MODEL_ACCESS = /access to the model\b|model access is denied/i

/** In place of messages that may name the operator's account and role. */
const WITHOUT_ACCESS =
  "The gateway's account at AWS has no access to this model in this region. Its operator can request it in " +
  'the console of Bedrock (Model access), and subscribe to it in the Marketplace.'

function isWithoutAccess(name: string, message: string): boolean {
  return name === 'AccessDeniedException' && NO_MODEL_ACCESS.test(message)
}

/** "The provided model identifier is invalid." */
const INVALID_MODEL = /model identifier is invalid/i

const STATUSES = new Map([
  ['ValidationException', 400],
  ['ServiceQuotaExceededException', 400],
  ['AccessDeniedException', 403],
  ['ExpiredTokenException', 403],
  ['InvalidSignatureException', 403],
  ['ResourceNotFoundException', 404],
  ['ModelTimeoutException', 408],
  ['ModelErrorException', 424],
  ['ModelStreamErrorException', 424],
  ['ThrottlingException', 429],
  ['ModelNotReadyException', 429],
  ['ServiceUnavailableException', 503],
])
