import type { FinishReason, JsonObject, Usage } from '../../../core/contract/index.ts'
import type { ModelRequest, ToolDefinition } from './model-request.ts'
import { sampleJson } from './sample-json.ts'
import { countTokens, truncateToTokens } from './tokens.ts'

/** A reply, independent of the provider's wire format. */
export interface ModelReply extends ReplyStamp {
  readonly model: string
  /** Present only when the request asks for reasoning. */
  readonly reasoning?: string
  /** The field of chat completions that holds it. Default: `reasoning_content`. */
  readonly reasoningField?: 'reasoning'
  /** Empty for tool calls and refusals. */
  readonly text: string
  /** An image behind the text, or content of an unknown type in place of the text. */
  readonly media?: 'image' | 'unknown'
  /** The explanation of a refusal; `finish` is then `content_filter`. */
  readonly refusal?: string
  readonly toolCalls: readonly ModelToolCall[]
  readonly finish: FinishReason
  /** With the service tier and the searches that the reply reports. */
  readonly usage: Usage
}

/** The searches that a reply reports. */
export function countSearches({ usage }: ModelReply): number {
  return usage.toolCalls?.web_search ?? 0
}

/** The pages that a reply in a chat format cites. */
export function toAnnotations(reply: ModelReply): readonly JsonObject[] {
  return Array.from({ length: countSearches(reply) }, (_, index) => ({
    type: 'url_citation',
    url_citation: { url: `https://example.com/${index}`, title: 'A page', start_index: 0, end_index: 1 },
  }))
}

export interface ModelToolCall {
  readonly id: string
  readonly name: string
  /** The arguments as JSON text. */
  readonly argumentsJson: string
}

/** The parts of a reply that do not follow from the parsed request. */
export interface ReplyStamp {
  readonly id: string
  /** Unix time in seconds. */
  readonly created: number
}

/** A PNG of one pixel, in Base64. */
export const SAMPLE_PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** The content of `media` in the formats of OpenAI and Mistral. */
export function toMediaPart(media: 'image' | 'unknown'): JsonObject {
  if (media === 'unknown') return { type: 'hologram' }
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${SAMPLE_PNG}` } }
}

/** How a reply calls tools. */
interface CallOptions {
  /** The arguments as JSON text; by default, values that match the schema. */
  readonly callArguments?: string | undefined
  /** How many replies to one user message call tools; by default, one. */
  readonly callRounds?: number
}

/** As models have a longest reply: a text that is repeated without end would hold the event loop. */
const MAX_OUTPUT_TOKENS = 131_072

/** Builds the reply to a request. Deterministic: equal requests get equal replies. */
export function buildModelReply(
  received: ModelRequest,
  stamp: ReplyStamp,
  { callArguments, callRounds = 1 }: CallOptions = {},
): ModelReply {
  const request = {
    ...received,
    userText: truncateToTokens(received.userText, MAX_OUTPUT_TOKENS),
    toolResults: received.toolResults.map((result) => truncateToTokens(result, MAX_OUTPUT_TOKENS)),
  }
  const tools = chooseTools(request, callRounds)
  return tools.length > 0
    ? buildToolCallReply(request, tools, stamp, callArguments)
    : buildTextReply(request, stamp)
}

/** Builds the reply of a model that refuses to answer. */
export function buildModelRefusal(request: ModelRequest, stamp: ReplyStamp): ModelReply {
  return {
    ...stamp,
    model: request.model,
    text: '',
    refusal: 'The sandbox was asked to refuse.',
    toolCalls: [],
    finish: 'content_filter',
    usage: countUsage(request, '', ''),
  }
}

/**
 * Returns the tools to call, or none to reply with text. With tool choice `auto`, a tool is called when the
 * user message contains its name or the word "tool". The word "parallel" yields two calls.
 */
function chooseTools(request: ModelRequest, callRounds: number): readonly ToolDefinition[] {
  const [first, second = first] = findCallableTools(request, callRounds)
  if (!first || !second) return []
  const wantsTwo = request.mayCallInParallel && /parallel/i.test(request.userText)
  return wantsTwo ? [first, second] : [first]
}

function findCallableTools(request: ModelRequest, callRounds: number): readonly ToolDefinition[] {
  switch (request.toolChoice) {
    case 'none':
      return []
    case 'required':
      return sortByMention(request)
    case 'auto':
      return request.repliesSinceUser < callRounds && mentionsTool(request) ? sortByMention(request) : []
  }
}

function mentionsTool({ tools, userText }: ModelRequest): boolean {
  return /\btools?\b/i.test(userText) || tools.some(({ name }) => userText.includes(name))
}

/** Puts tools that the user message names first; otherwise keeps the order of the request. */
function sortByMention({ tools, userText }: ModelRequest): readonly ToolDefinition[] {
  const isMentioned = ({ name }: ToolDefinition) => userText.includes(name)
  return [...tools.filter(isMentioned), ...tools.filter((tool) => !isMentioned(tool))]
}

function buildToolCallReply(
  request: ModelRequest,
  tools: readonly ToolDefinition[],
  stamp: ReplyStamp,
  callArguments: string | undefined,
): ModelReply {
  const toolCalls = tools.map(({ name, schema }, index) => ({
    id: `call_${stamp.id}${index}`,
    name,
    argumentsJson: callArguments ?? JSON.stringify(sampleJson({ type: 'object', ...schema })),
  }))
  const output = toolCalls.map(({ name, argumentsJson }) => name + argumentsJson).join('')
  const reasoning = buildReasoning(request)
  return {
    ...stamp,
    model: request.model,
    ...(reasoning && { reasoning }),
    text: '',
    toolCalls,
    finish: 'tool_calls',
    usage: countUsage(request, reasoning, output),
  }
}

function buildTextReply(request: ModelRequest, stamp: ReplyStamp): ModelReply {
  const reasoning = truncateToTokens(buildReasoning(request), MAX_OUTPUT_TOKENS)
  const maxTokens = Math.min(request.maxTokens ?? MAX_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS)
  const textLimit = Math.max(0, maxTokens - countTokens(reasoning))
  const fullText = truncateAtStop(buildText(request), request.stop)
  const isComplete = countTokens(fullText) <= textLimit
  const text = isComplete ? fullText : truncateToTokens(fullText, textLimit)
  return {
    ...stamp,
    model: request.model,
    ...(reasoning && { reasoning }),
    text,
    toolCalls: [],
    finish: isComplete ? 'stop' : 'length',
    usage: countUsage(request, reasoning, text),
  }
}

/** Empty unless requested. Reasoning counts against the caller's limit but is not truncated there. */
function buildReasoning({ wantsReasoning, userText }: ModelRequest): string {
  return wantsReasoning ? `The user said: "${userText}". I will say so.` : ''
}

function buildText(request: ModelRequest): string {
  const { replyFormat } = request
  switch (replyFormat.type) {
    case 'text':
      return buildProse(request)
    case 'json':
      return JSON.stringify({ you_said: request.userText, model: request.model })
    case 'schema':
      return JSON.stringify(sampleJson(replyFormat.schema))
  }
}

function buildProse({ toolResults, userText, model }: ModelRequest): string {
  const sentences = [
    ...toolResults.map((result) => `The tool answered: "${result}".`),
    `You said: "${userText}".`,
    `This is the sandbox, answering as ${model}.`,
  ]
  return sentences.join(' ')
}

function truncateAtStop(text: string, stop: readonly string[]): string {
  const ends = stop.map((sequence) => text.indexOf(sequence)).filter((index) => index !== -1)
  return text.slice(0, Math.min(text.length, ...ends))
}

function countUsage({ texts }: ModelRequest, reasoning: string, output: string): Usage {
  const reasoningTokens = countTokens(reasoning)
  return {
    input: countTokens(texts.join('')),
    output: reasoningTokens + countTokens(output),
    reasoning: reasoningTokens,
  }
}
