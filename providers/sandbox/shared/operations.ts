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

/** Returns a vector of unit length that depends on the model and the text only. */
export function buildVector(model: string, text: string, dimensions: unknown): readonly number[] {
  const length = typeof dimensions === 'number' ? dimensions : (DIMENSIONS[model] ?? DEFAULT_DIMENSIONS)
  let seed = createHash('sha256').update(`${model}\n${text}`).digest().readUInt32LE(0)
  const values = Array.from({ length }, () => {
    // Numerical Recipes' linear congruential generator.
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return seed / 2 ** 31 - 1
  })
  const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
  return values.map((value) => Math.fround(value / norm))
}
