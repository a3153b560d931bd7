import { createHash } from 'node:crypto'
import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { countTokens } from './tokens.ts'
import { type ChatCall, SandboxError } from './wire-format.ts'

/** The texts of a request that is not a chat, and what it asks for. */
export interface OperationRequest {
  readonly model: string
  /** A text per input; of token ids, their JSON. */
  readonly texts: readonly string[]
  readonly tokens: number
}

/** What a provider accepts in one request. */
interface BatchLimit {
  readonly inputs: number
  readonly tokens: number
  readonly inputsError: () => SandboxError
  readonly tokensError: () => SandboxError
}

/** The longest vectors of any model. */
const MAX_DIMENSIONS = 3072

/** Numbers in one answer: more would hold the event loop for too long. */
const MAX_NUMBERS = 2 ** 19

/** Throws a `SandboxError` for a request with more texts or tokens than a provider accepts. */
export function checkBatch({ texts, tokens }: OperationRequest, limit: BatchLimit): void {
  if (texts.length > limit.inputs) throw limit.inputsError()
  if (tokens > limit.tokens) throw limit.tokensError()
}

/** Parses `model` and `input` as OpenAI and Mistral have them. Throws a `SandboxError` (400). */
export function parseOperationRequest(body: unknown): OperationRequest & { readonly body: JsonObject } {
  if (!isJsonObject(body)) throw new SandboxError(400, 'We could not parse the JSON body of your request.')
  const { model, input } = body
  if (typeof model !== 'string' || model === '') throw missing('model')
  if (input === undefined || input === '' || (Array.isArray(input) && input.length === 0))
    throw missing('input')
  const inputs = toInputs(input)
  const tokens = inputs.reduce(
    (sum, each) => sum + (typeof each === 'string' ? countTokens(each) : each.length),
    0,
  )
  const texts = inputs.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  return { model, texts, tokens, body }
}

function missing(param: string): SandboxError {
  const code = 'missing_required_parameter'
  return new SandboxError(400, `Missing required parameter: '${param}'.`, { param, code })
}

function toInputs(input: unknown): readonly (string | readonly unknown[])[] {
  if (typeof input === 'string') return [input]
  if (!Array.isArray(input)) throw new SandboxError(400, "Invalid value for 'input'.", { param: 'input' })
  if (typeof input[0] === 'number') return [input]
  if (isJsonObject(input[0])) return [input.map((part) => textOf(part)).join('\n')]
  return input.map((each) => (Array.isArray(each) ? each : String(each)))
}

function textOf(part: unknown): string {
  return isJsonObject(part) && typeof part.text === 'string' ? part.text : ''
}

/** Wraps the answer to an operation, so that faults apply to it as to chats. */
export function toOperationCall({ model, texts }: OperationRequest, answer: JsonObject): ChatCall {
  return {
    request: {
      model,
      texts,
      userText: texts.join('\n'),
      repliesSinceUser: 0,
      toolResults: [],
      tools: [],
      toolChoice: 'none',
      mayCallInParallel: false,
      replyFormat: { type: 'text' },
      wantsReasoning: false,
      maxTokens: undefined,
      stop: [],
    },
    isStream: false,
    toBody: () => JSON.stringify(answer),
    toStream: () => ({ content: [], closing: [] }),
  }
}

/** The usual length of the vectors of models that are not listed. */
const DEFAULT_DIMENSIONS = 1536

const DIMENSIONS: Readonly<Record<string, number>> = {
  'text-embedding-3-large': 3072,
  'gemini-embedding-2': 3072,
  'gemini-embedding-001': 3072,
  'mistral-embed': 1024,
}

/**
 * Returns the vectors of texts, of unit length, which depend on the model and the text only. Throws a
 * `SandboxError` (400) for too many numbers.
 */
export function buildVectors(
  model: string,
  texts: readonly string[],
  dimensions: unknown,
): readonly (readonly number[])[] {
  const length = dimensions ?? DIMENSIONS[model] ?? DEFAULT_DIMENSIONS
  if (!Number.isInteger(length) || Number(length) < 1 || Number(length) > MAX_DIMENSIONS) {
    const message = `Invalid value for 'dimensions': must be an integer from 1 to ${MAX_DIMENSIONS}.`
    throw new SandboxError(400, message, { param: 'dimensions' })
  }
  if (texts.length * Number(length) > MAX_NUMBERS) {
    const message = `The sandbox returns at most ${MAX_NUMBERS} numbers. Send fewer texts in one request.`
    throw new SandboxError(400, message, { param: 'input' })
  }
  return texts.map((text) => buildVector(model, text, Number(length)))
}

function buildVector(model: string, text: string, length: number): readonly number[] {
  let seed = createHash('sha256').update(`${model}\n${text}`).digest().readUInt32LE(0)
  const values = Array.from({ length }, () => {
    // Numerical Recipes' linear congruential generator.
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return seed / 2 ** 31 - 1
  })
  const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
  return values.map((value) => Math.fround(value / norm))
}
