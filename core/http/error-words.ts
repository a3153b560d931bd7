import type { ContextLengths } from '../contract/errors.ts'
import { type ErrorStyle, GatewayError } from '../contract/index.ts'

/** How clients of one format recognise an error; what is left out is that of the error itself. */
interface DialectWords {
  readonly status?: number
  readonly type?: string
  readonly code?: string
  /** A text that clients look for in the message, unless `pattern` finds its like there. */
  readonly phrase?: (lengths: ContextLengths | undefined) => string
  readonly pattern?: RegExp
}

/** The endpoints whose clients know errors by other words. */
type WordedStyle = 'openai' | 'anthropic' | 'route'

type ErrorWords = Readonly<Partial<Record<WordedStyle, DialectWords>>>

const overloaded: ErrorWords = { anthropic: { status: 529 } }

/** The interface has one code for all parameters that are not as they should be. */
const invalidParameter: ErrorWords = { route: { code: 'missing_parameter' } }

const invalidImage: ErrorWords = {
  openai: {
    phrase: () => 'The image data you provided does not represent a valid image.',
    pattern: /does not represent a valid image|\binvalid[_ ](?:\w+[_ ])?image/i,
  },
  anthropic: { phrase: () => 'Could not process image.', pattern: /could not process image/i },
}

/**
 * The words that SDKs and agents test for, by `wireCode` or `code` of an error (docs/guides/errors.md).
 * Errors that are not listed go by their own code, type and status.
 */
export const ERROR_WORDS: Readonly<Record<string, ErrorWords>> = {
  invalid_value: invalidParameter,
  unsupported_parameter: invalidParameter,
  context_length_exceeded: {
    openai: { phrase: toOpenAiOverflow, pattern: /maximum context length is|exceeds the context window/i },
    anthropic: {
      phrase: toAnthropicOverflow,
      pattern: /prompt is too long|input length and `max_tokens` exceed context limit/i,
    },
  },
  provider_rate_limited: {
    openai: { code: 'rate_limit_exceeded' },
    route: { code: 'rate_limit_exceeded' },
  },
  provider_quota_exceeded: {
    openai: { code: 'insufficient_quota', type: 'insufficient_quota' },
    anthropic: { status: 402 },
  },
  provider_overloaded: { openai: { code: 'server_is_overloaded' }, ...overloaded },
  no_providers_available: overloaded,
  shutting_down: overloaded,
  model_unavailable: overloaded,
  content_filter: {
    openai: {
      phrase: () => 'The content was filtered.',
      pattern: /content[ _](?:filter|policy|management)/i,
    },
    anthropic: {
      phrase: () => 'Output blocked by content filtering policy.',
      pattern: /output blocked by content filtering policy/i,
    },
  },
  invalid_image: invalidImage,
  image_too_large: {
    openai: { phrase: () => 'The image is too large.', pattern: /image.{0,40}(?:too large|exceed)/i },
    anthropic: {
      phrase: () => 'image exceeds the maximum size.',
      pattern: /image (?:exceeds|dimensions exceed)/i,
    },
  },
}

/** Wire codes of providers that mean the same to clients of another format. */
const SYNONYMS: Readonly<Record<string, string>> = {
  content_policy_violation: 'content_filter',
  image_content_policy_violation: 'content_filter',
  invalid_image_format: 'invalid_image',
  invalid_base64_image: 'invalid_image',
  image_parse_error: 'invalid_image',
  unsupported_image_media_type: 'invalid_image',
  empty_image_file: 'invalid_image',
  image_file_too_large: 'image_too_large',
}

/** Codex and LangChain look for the second form, most other agents for the first. */
function toOpenAiOverflow(lengths: ContextLengths | undefined): string {
  if (lengths === undefined)
    return 'Your input exceeds the context window of this model. Please adjust your input and try again.'
  const { input, output, limit } = lengths
  const maximum = `This model's maximum context length is ${limit} tokens.`
  return output === undefined
    ? `${maximum} However, your messages resulted in ${input} tokens. Please reduce the length of the ` +
        'messages.'
    : `${maximum} However, you requested ${input + output} tokens (${input} in the messages, ${output} in ` +
        'the completion). Please reduce the length of the messages or completion.'
}

/** Claude Code compacts after the first form; after the second it asks again for fewer tokens. */
function toAnthropicOverflow(lengths: ContextLengths | undefined): string {
  if (lengths === undefined) return 'prompt is too long.'
  const { input, output, limit } = lengths
  return output === undefined || input >= limit
    ? `prompt is too long: ${input} tokens > ${limit} maximum.`
    : `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${limit}, decrease ` +
        'input length or `max_tokens` and try again.'
}

type ClassifiedError = Pick<GatewayError, 'code' | 'wireCode'>

function findWords(
  { code, wireCode }: ClassifiedError,
  style: ErrorStyle | undefined,
): DialectWords | undefined {
  if (style !== 'openai' && style !== 'anthropic' && style !== 'route') return undefined
  const words = ERROR_WORDS[SYNONYMS[wireCode] ?? wireCode] ?? ERROR_WORDS[code]
  return words?.[style]
}

/** Returns what clients of a format get to see of an error. */
export function toWords(
  error: GatewayError,
  style: ErrorStyle,
): Pick<GatewayError, 'code' | 'type' | 'status' | 'message'> {
  const { wireCode, type, status, message, details } = error
  const words = findWords(error, style)
  if (words === undefined) return { code: wireCode, type, status, message }
  const { phrase, pattern } = words
  const isMissing = phrase !== undefined && pattern?.test(message) !== true
  return {
    code: words.code ?? wireCode,
    type: words.type ?? type,
    status: words.status ?? status,
    message: isMissing ? `${phrase(details.contextLengths)} ${message}` : message,
  }
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Returns the `type` of an error in Anthropic's format. */
export function toAnthropicErrorType(status: number): string {
  return ANTHROPIC_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}

/** Returns the HTTP status of an error code for an endpoint; `status` is that for other endpoints. */
export function statusInStyle(code: string, status: number, style: ErrorStyle | undefined): number {
  return findWords({ code, wireCode: code }, style)?.status ?? status
}

/** Returns an error with the status that clients of an endpoint get. */
export function toErrorInStyle(error: unknown, style: ErrorStyle): unknown {
  if (style !== 'anthropic' || !GatewayError.isInstance(error)) return error
  const { code, type, message, details } = error
  const status = statusInStyle(code, error.status, style)
  return status === error.status ? error : new GatewayError({ ...details, code, type, message, status })
}

/** Rounds up to whole seconds. At least 1, because clients that retry after 0 seconds are refused again. */
export function toRetryAfterSeconds(ms: number): number {
  return Math.max(Math.ceil(ms / 1000), 1)
}

/** Returns the last sentence of error messages that tell clients when to retry. */
export function retryAdvice(seconds: number): string {
  return `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
}

/** Formats a duration like OpenAI's rate limit headers: `59s`, `1m0s`. */
export function formatDuration(seconds: number): string {
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
