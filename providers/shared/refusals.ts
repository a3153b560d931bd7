import type { ContextLengths } from '../../core/contract/errors.ts'

/** Why a provider refused a request, where clients treat the reason in a way of its own. */
export type Refusal = 'context_length_exceeded' | 'request_too_large' | 'content_filter' | ImageRefusal

type ImageRefusal = 'image_too_large' | 'invalid_image'

interface DescribedError {
  readonly message: string
  /** The provider's code, or its most specific type. */
  readonly logCode: string
}

/**
 * Recognises the reason by what the provider says: most have no code for it. `code` is that of the error by
 * its status. Sources are in docs/providers.md, "What providers say about a refused request".
 */
export function findRefusal(code: string, status: number, error: DescribedError): Refusal | undefined {
  if (code !== 'provider_refused' && code !== 'provider_error') return undefined
  const text = `${error.logCode} ${error.message}`
  const found = REFUSALS.find(([, pattern]) => pattern.test(text))?.[0]
  if (found === 'context_length_exceeded') return NOT_OVERFLOW.test(text) ? undefined : found
  if (code !== 'provider_refused') return undefined
  return found ?? (status === 413 ? 'request_too_large' : undefined)
}

const REFUSALS: readonly (readonly [Refusal, RegExp])[] = [
  [
    'context_length_exceeded',
    anyOf(
      ...['prompt is too long', 'exceed context limit', 'input is too long for requested model'],
      ...['context[_ ]length[_ ]exceeded', 'context_?window_?exceeded', 'exceed_context_size'],
      ...[
        'maximum context (?:length|limit)',
        "(?:exceeds|larger than) the (?:model's )?context (?:window|length)",
      ],
      ...['input tokens exceed the configured limit', 'exceeds the maximum number of tokens'],
      ...['too large for model with', 'maximum prompt length', 'reduce the length of the messages'],
      ...['exceeds the available context size', 'context size has been exceeded'],
      ...['(?:greater|longer) than the (?:maximum )?(?:model|context)', 'context length of only'],
      ...["longer than the model's (?:maximum )?context", 'exceeded (?:max )?context length'],
      ...['context window exceeds limit', 'exceeded model token limit', 'prompt exceeds max length'],
      ...['tokens in request more than max tokens', 'range of input length should be'],
      ...['`inputs` tokens \\+ `max_new_tokens` must be', 'prompt token count of \\d+ exceeds'],
      ...['input token length too long', 'exceeds? (?:the )?(?:maximum )?context'],
    ),
  ],
  [
    'request_too_large',
    anyOf('request_too_large', 'payload size exceeds', 'request exceeds the maximum size'),
  ],
  [
    'content_filter',
    anyOf(
      ...['content_filter', 'content_policy_violation', 'content management policy'],
      ...['ResponsibleAIPolicyViolation'],
      ...['blocked by content filtering policy', 'content exists risk', 'data_inspection_failed'],
    ),
  ],
  [
    'image_too_large',
    anyOf(
      ...['image_(?:file_)?too_large', 'image exceeds', 'image dimensions exceed', 'image is too large'],
      ...['image size .{0,40}exceeds'],
    ),
  ],
  [
    'invalid_image',
    anyOf(
      ...[
        'could not process (?:the )?image',
        'does not represent a valid image',
        'invalid_(?:base64_)?image',
      ],
      ...['unable to process (?:the )?input image', 'provided image is not valid', 'image_parse_error'],
      ...['failed to (?:load|decode) (?:the )?image', 'cannot identify image file'],
    ),
  ],
]

/** Limits of rates and of single fields, which also speak of tokens and lengths. */
const NOT_OVERFLOW = anyOf('rate limit', 'too many requests', 'tokens per min', 'string too long')

function anyOf(...patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join('|'), 'i')
}

/** The numbers in the message of a context overflow, if it has plausible ones. */
export function readContextLengths(message: string): ContextLengths | undefined {
  const text = message.replaceAll(/(?<=\d),(?=\d{3})/g, '')
  for (const pattern of LENGTHS) {
    const { input: inputText, output: outputText, limit: limitText } = pattern.exec(text)?.groups ?? {}
    const [input, output, limit] = [inputText, outputText, limitText].map(Number)
    if (input === undefined || !(limit !== undefined && limit > 0)) continue
    if (output !== undefined && output > 0 && input + output > limit) return { input, output, limit }
    if (input > limit) return { input, limit }
  }
  return undefined
}

const LENGTHS: readonly RegExp[] = [
  /limit: (?<input>\d+) \+ (?<output>\d+) > (?<limit>\d+)/,
  /(?<input>\d+) tokens? > (?<limit>\d+)/,
  /length is (?<limit>\d+) tokens.*?\((?<input>\d+) in the messages, (?<output>\d+) in the completion/,
  /too large: (?<output>\d+)\..*?length is (?<limit>\d+) tokens and your request has (?<input>\d+)/,
  /length is (?<limit>\d+) tokens.*?requested (?<output>\d+) output tokens.*?at least (?<input>\d+)/,
  /contains (?<input>\d+) tokens.*?model with (?<limit>\d+)/,
  /(?:length is|limit is|limit:) (?<limit>\d+)\D{1,80}(?<input>\d+)/,
  /(?<input>\d+)\D{1,120}(?:exceed|longer than|greater than|more than)\D{1,80}(?<limit>\d+)/,
]
