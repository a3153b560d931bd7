import {
  type ChatRequest,
  type ContentPart,
  isJsonObject,
  type Model,
  type Operation,
} from '../../core/contract/index.ts'
import { estimateInputTokens } from '../../core/tokens/prompt-tokens.ts'
import type { Capabilities } from '../../providers/shared/catalog.ts'

/** What a request requires of a model. Token counts are estimates. */
export interface Requirements {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly tools: boolean
  /** The user sent an image. */
  readonly images: boolean
  /** A tool returned an image. Models that read none can serve the request without. */
  readonly resultImages?: boolean
  /** A level of `JSON_LEVELS`. */
  readonly json: number
  /** The model must call a tool. */
  readonly forcedTools?: boolean
  /** The request has content or tools that only Anthropic has. Models of others can serve it without. */
  readonly anthropic?: boolean
  /** Undefined: `chat`. */
  readonly operation?: Operation | undefined
  /** Length of the vectors of an embedding. */
  readonly dimensions?: number | undefined
}

/** JSON modes; each level includes the lower ones. */
const JSON_LEVELS = { none: 0, object: 1, schema: 2 } as const

/** The expected output of a request without a lower limit. */
const EXPECTED_OUTPUT_TOKENS = 500

export function requirementsOf(request: ChatRequest, asked: AskedOperation = {}): Requirements {
  if ((asked.operation ?? 'chat') !== 'chat')
    return { ...asked, ...OPERATION_NEEDS, ...longestInput(request, asked.operation) }
  const limit = request.max_completion_tokens ?? request.max_tokens
  return {
    inputTokens: estimateInputTokens(request),
    outputTokens: Math.min(limit ?? EXPECTED_OUTPUT_TOKENS, EXPECTED_OUTPUT_TOKENS),
    tools: (request.tools?.length ?? 0) > 0,
    ...findImages(request),
    json: jsonLevelOf(formatTypeOf(request)),
    forcedTools: isForcing(request.tool_choice),
    anthropic: request.extra_content?.anthropic !== undefined && needsAnthropic(request),
  }
}

const OPERATION_NEEDS = { outputTokens: 0, tools: false, images: false, json: JSON_LEVELS.none }

const NO_NEEDS: Requirements = { inputTokens: 0, ...OPERATION_NEEDS }

/** What a request requires of a model that is fixed, which need not be counted: the format of its reply. */
export function formRequirementsOf(request: ChatRequest): Requirements {
  return {
    ...NO_NEEDS,
    json: jsonLevelOf(formatTypeOf(request)),
    forcedTools: isForcing(request.tool_choice),
  }
}

function findImages({ messages }: ChatRequest): Pick<Requirements, 'images' | 'resultImages'> {
  let resultImages = false
  for (const { role, content } of messages) {
    if (!Array.isArray(content) || !content.some(({ type }) => type === 'image_url')) continue
    if (role !== 'tool') return { images: true }
    resultImages = true
  }
  return { images: false, ...(resultImages && { resultImages }) }
}

/** What a request asks for besides its fields. */
export type AskedOperation = Pick<Requirements, 'operation' | 'dimensions'>

/** A model that does not chat reads each input by itself. */
function longestInput({ messages }: ChatRequest, operation?: Operation): Pick<Requirements, 'inputTokens'> {
  let inputTokens = 0
  for (const message of messages)
    inputTokens = Math.max(inputTokens, estimateInputTokens({ messages: [message] }, undefined, operation))
  return { inputTokens }
}

function needsAnthropic({ messages, tools }: ChatRequest): boolean {
  if (tools?.some(({ type }) => type === 'extra_content')) return true
  return messages.some(({ content }) => Array.isArray(content) && content.some(isOfAnthropic))
}

function isOfAnthropic({ type, extra_content }: ContentPart): boolean {
  return type === 'extra_content' && !CONVERTIBLE.has(extra_content?.anthropic?.type)
}

/** Blocks that other providers get in a form of their own, or do not need. */
const CONVERTIBLE: ReadonlySet<unknown> = new Set([
  ...['thinking', 'redacted_thinking', 'tool_use', 'search_result', 'tool_reference'],
])

/** The format of the reply, which requests in Anthropic's format hold in their own way. */
export function formatTypeOf({ response_format, extra_content }: ChatRequest): unknown {
  if (response_format != null) return response_format.type
  const fields = extra_content?.anthropic?.fields
  const config = isJsonObject(fields) ? fields.output_config : undefined
  return isJsonObject(config) && isJsonObject(config.format) ? config.format.type : undefined
}

function isForcing(choice: ChatRequest['tool_choice']): boolean {
  if (!isJsonObject(choice)) return choice === 'required' || choice === 'any'
  const { type, allowed_tools } = choice
  return type !== 'allowed_tools' || (isJsonObject(allowed_tools) && allowed_tools.mode === 'required')
}

function jsonLevelOf(format: unknown): number {
  if (format === 'json_schema') return JSON_LEVELS.schema
  return format === 'json_object' ? JSON_LEVELS.object : JSON_LEVELS.none
}

/**
 * Returns the first capability that the request requires and the model lacks; undefined if the model supports
 * the request. For a model that is not catalogued (`model` is undefined) only the provider's JSON mode is
 * checked.
 */
export function findMissingCapability(
  model: Model | undefined,
  provider: Capabilities | undefined,
  requirements: Requirements,
): string | undefined {
  const { dimensions } = requirements
  if (dimensions !== undefined && model !== undefined && !hasDimensions(model, dimensions))
    return 'dimensions'
  if (requirements.json > (provider ? JSON_LEVELS[provider.json] : 0)) return 'response_format'
  if (model === undefined) return undefined
  if (requirements.json > JSON_LEVELS[model.capabilities.json]) return 'response_format'
  if (requirements.forcedTools && model.quirks.forced_tools === false) return 'tool_choice'
  if (requirements.tools && !model.capabilities.tools) return 'tools'
  if (requirements.images && !model.capabilities.images) return 'images'
  const tokens = requirements.inputTokens + requirements.outputTokens
  return tokens > model.context ? 'context' : undefined
}

export function operationOf({ operation = 'chat' }: Pick<Model, 'operation'>): Operation {
  return operation
}

/** Whether an embedding model has vectors of this length. Of a model without a row, it is not known. */
export function hasDimensions({ dimensions }: Pick<Model, 'dimensions'>, length: number): boolean {
  if (dimensions === undefined) return true
  const { default: usual, min = usual, max = usual } = dimensions
  return length >= min && length <= max
}
