/** An error in a provider's own words. */
export interface ProviderError {
  readonly status: number
  readonly message: string
  readonly code?: string
}

type Format = 'openai' | 'anthropic' | 'gemini' | 'mistral' | 'deepseek'

/** The errors that the fault `error=NAME` sends. Formats without words of their own send those of OpenAI. */
const PROVIDER_ERRORS: Readonly<
  Record<string, Readonly<Partial<Record<Format, ProviderError>> & { openai: ProviderError }>>
> = {
  overflow: {
    openai: {
      status: 400,
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 " +
        'tokens. Please reduce the length of the messages.',
      code: 'context_length_exceeded',
    },
    anthropic: { status: 400, message: 'prompt is too long: 250000 tokens > 200000 maximum' },
    gemini: {
      status: 400,
      message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).',
    },
    mistral: {
      status: 400,
      message:
        'Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 ' +
        'maximum context length',
      code: '3051',
    },
    deepseek: {
      status: 400,
      message:
        "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens " +
        '(131808 in the messages, 8192 in the completion). Please reduce the length of the ' +
        'messages or completion.',
      code: 'invalid_request_error',
    },
  },
  overloaded: {
    openai: { status: 503, message: 'The server is overloaded.', code: 'server_is_overloaded' },
    anthropic: { status: 529, message: 'Overloaded' },
    gemini: { status: 503, message: 'The model is overloaded. Please try again later.' },
  },
  quota: {
    openai: {
      status: 429,
      message: 'You exceeded your current quota, please check your plan and billing details.',
      code: 'insufficient_quota',
    },
    anthropic: { status: 400, message: 'Your credit balance is too low to access the Anthropic API.' },
    gemini: {
      status: 429,
      message: 'You exceeded your current quota.',
      code: 'GenerateRequestsPerDayPerProjectPerModel',
    },
    mistral: { status: 402, message: 'Payment required' },
    deepseek: { status: 402, message: 'Insufficient Balance' },
  },
  'content-filter': {
    openai: {
      status: 400,
      message: 'The prompt was filtered by the content management policy.',
      code: 'content_filter',
    },
    anthropic: { status: 400, message: 'Output blocked by content filtering policy' },
    deepseek: { status: 400, message: 'Content Exists Risk' },
  },
  image: {
    openai: {
      status: 400,
      message: 'The image data you provided does not represent a valid image.',
      code: 'invalid_base64_image',
    },
    anthropic: { status: 400, message: 'Could not process image' },
    gemini: { status: 400, message: 'Unable to process input image.' },
  },
  'large-image': {
    openai: { status: 400, message: 'The image is too large.', code: 'image_too_large' },
    anthropic: { status: 400, message: 'image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes' },
  },
  'too-large': {
    openai: { status: 413, message: 'Request too large.' },
    anthropic: { status: 413, message: 'Request exceeds the maximum size' },
    gemini: { status: 400, message: 'Request payload size exceeds the limit: 20971520 bytes.' },
  },
}

export const PROVIDER_ERROR_NAMES: readonly string[] = Object.keys(PROVIDER_ERRORS)

/** Returns the words of a provider for an error; undefined for an unknown name. */
export function findProviderError(name: string, format: string): ProviderError | undefined {
  if (!Object.hasOwn(PROVIDER_ERRORS, name)) return undefined
  const byFormat: Readonly<Record<string, ProviderError>> = PROVIDER_ERRORS[name] ?? {}
  return byFormat[format] ?? byFormat.openai
}
