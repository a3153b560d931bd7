import { type FinishReason, ReplyEvent, type ReplyPart, type Usage } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { toServedTier, toToolCalls } from '../../core/prices/price-terms.ts'
import { isReportedError } from '../shared/error-body.ts'
import { incompleteReplyError, unusableReplyError } from '../shared/errors.ts'
import { asObject, asObjects, asString, asTokens, toArgumentsJson, toUnreadPart } from '../shared/fields.ts'
import { parseGeminiErrorRecord } from './errors.ts'
import { toSignatureContent } from './tools.ts'

/**
 * Parses a whole reply, which has the form of a stream of one record. Throws a `GatewayError` for an error
 * body and for any other value.
 */
export function parseGeminiReply(body: unknown): ReplyEvent {
  const response = asObject(body)
  if (isReportedError(response.error)) throw parseGeminiErrorRecord(response)
  const reader = createGeminiResponseReader()
  return new ReplyEvent([...reader.read(response), ...reader.end()])
}

/** Reads the fragments of one response. Stateful. */
interface ResponseReader {
  /** Throws a `GatewayError` if the model failed before it produced content. */
  read(fragment: JsonObject): readonly ReplyPart[]
  /** Returns the usage so far; undefined until a fragment has one. */
  usage(): Usage | undefined
  /** Returns the finish reason and the usage. Throws a `GatewayError` if the response is incomplete. */
  end(): readonly ReplyPart[]
}

/**
 * https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse
 * (docs/providers.md, "Gemini")
 */
export function createGeminiResponseReader(): ResponseReader {
  const readContent = createContentReader()
  let hasStarted = false
  let hasContent = false
  let hasToolCalls = false
  let finishReason = ''
  let usage: Usage | undefined
  let grounding: JsonObject = {}

  function readFragment(fragment: JsonObject, responseId: string): readonly ReplyPart[] | undefined {
    const candidate = asObjects(fragment.candidates).find(({ index = 0 }) => index === 0)
    if (candidate) return readCandidate(candidate, responseId)
    const blockReason = asString(asObject(fragment.promptFeedback).blockReason)
    if (blockReason === '') return undefined
    // The response to a blocked prompt has status 200, and no candidate with a finish reason.
    finishReason = 'PROHIBITED_CONTENT'
    const name = /^[A-Z_]{1,64}$/.test(blockReason) ? blockReason : 'OTHER'
    return [{ type: 'refusal', text: `blocked: ${name}` }]
  }

  function readCandidate(candidate: JsonObject, responseId: string): readonly ReplyPart[] {
    const parts = readContent(candidate, responseId)
    hasContent ||= parts.some(({ type }) => type !== 'reasoning' && type !== 'unread')
    hasToolCalls ||= parts.some(({ type }) => type === 'tool-start')
    finishReason = asString(candidate.finishReason) || finishReason
    if (hasContent || !FAILURE_REASONS.has(finishReason)) return parts
    throw unusableReplyError(`The model failed to reply (finishReason: ${finishReason}).`)
  }

  return {
    read(fragment) {
      const id = asString(fragment.responseId)
      const parts = readFragment(fragment, id)
      grounding = groundingOf(fragment) ?? grounding
      usage = toUsage(fragment, grounding) ?? usage
      if (!parts) return []
      const start: ReplyPart = { type: 'start', id, model: asString(fragment.modelVersion) }
      const all = hasStarted ? parts : [start, ...parts]
      hasStarted = true
      return all
    },
    usage: () => usage,
    end() {
      if (finishReason === '') {
        throw incompleteReplyError()
      }
      const finish: ReplyPart = { type: 'finish', reason: toFinishReason(finishReason, hasToolCalls) }
      return usage ? [finish, { type: 'usage', usage }] : [finish]
    },
  }
}

/** Reads the parts of a candidate, from one or more fragments. Stateful: create one per response. */
type ContentReader = (candidate: JsonObject, responseId: string) => readonly ReplyPart[]

/** A candidate has no content if it was blocked, or if its tokens were used up by thinking. */
function createContentReader(): ContentReader {
  let calls = 0

  /** Function calls arrive whole; from Gemini 3 on they have an id. */
  function toToolCallParts(part: JsonObject, call: JsonObject, responseId: string): readonly ReplyPart[] {
    const index = calls++
    const id = asString(call.id) || `call_${responseId}_${index}`
    const signature = asString(part.thoughtSignature)
    const extra = signature === '' ? {} : { extra_content: toSignatureContent(signature) }
    return [
      { type: 'tool-start', index, id, name: asString(call.name), ...extra },
      { type: 'tool-json', index, json: toArgumentsJson(call.args) || '{}' },
    ]
  }

  return ({ content }, responseId) =>
    asObjects(asObject(content).parts).flatMap((part) => {
      if (isJsonObject(part.functionCall)) return toToolCallParts(part, part.functionCall, responseId)
      const text = asString(part.text)
      if (text === '') return toOtherParts(part)
      return { type: part.thought === true ? 'reasoning' : 'text', text }
    })
}

/** Fields of a part that say nothing by themselves. */
const PART_FIELDS: ReadonlySet<string> = new Set(
  'text thought thoughtSignature partMetadata videoMetadata mediaResolution'.split(' '),
)

/** The parts of content other than texts and calls. Images in thoughts are not part of the reply. */
function toOtherParts(part: JsonObject): readonly ReplyPart[] {
  const [name] = Object.keys(part).filter((field) => !PART_FIELDS.has(field))
  if (name === undefined || part.thought === true) return []
  const content = asObject(part[name])
  const mediaType = asString(content.mimeType)
  const isImage = mediaType.startsWith('image/')
  switch (name) {
    case 'inlineData':
      if (isImage) return [{ type: 'image', url: `data:${mediaType};base64,${asString(content.data)}` }]
      break
    case 'fileData':
      if (isImage) return [{ type: 'image', url: asString(content.fileUri) }]
      break
    case 'executableCode':
      return [toCodeBlock(asString(content.language).toLowerCase(), asString(content.code))]
    case 'codeExecutionResult':
      return [toCodeBlock('', asString(content.output))]
  }
  return [toUnreadPart(mediaType === '' ? name : `${name} (${mediaType})`)]
}

/** Code that Gemini ran, or what it printed. */
function toCodeBlock(language: string, code: string): ReplyPart {
  return { type: 'text', text: `\n\`\`\`${language}\n${code.trimEnd()}\n\`\`\`\n` }
}

/** Token counts. Gemini does not count thoughts among the candidates' tokens, and omits zeros. */
function toUsage(
  { usageMetadata: value, modelVersion }: JsonObject,
  grounding: JsonObject,
): Usage | undefined {
  if (!isJsonObject(value)) return undefined
  const cached = asTokens(value.cachedContentTokenCount)
  const reasoning = asTokens(value.thoughtsTokenCount)
  return {
    input: (asTokens(value.promptTokenCount) ?? 0) + (asTokens(value.toolUsePromptTokenCount) ?? 0),
    output: (asTokens(value.candidatesTokenCount) ?? 0) + (reasoning ?? 0),
    ...(cached !== undefined && { cached }),
    ...(reasoning !== undefined && { reasoning }),
    ...toServedTier(value.serviceTier),
    ...toToolCalls(toSearches(grounding, asString(modelVersion))),
  }
}

/** What a reply was grounded on. In a stream, with the last fragments. */
function groundingOf({ candidates }: JsonObject): JsonObject | undefined {
  const [candidate] = asObjects(candidates)
  return isJsonObject(candidate?.groundingMetadata) ? candidate.groundingMetadata : undefined
}

/** Google charges for each query, and for models before Gemini 3 for each prompt. */
function toSearches({ webSearchQueries, groundingChunks }: JsonObject, model: string): JsonObject {
  const queries = Array.isArray(webSearchQueries) ? webSearchQueries.length : 0
  const isByPrompt = /gemini-[12]\b/.test(model)
  const google_maps = asObjects(groundingChunks).some(({ maps }) => maps !== undefined) ? 1 : 0
  return isByPrompt
    ? { grounded_prompt: Math.min(queries, 1), google_maps }
    : { google_search: queries, google_maps }
}

/** https://ai.google.dev/api/generate-content#FinishReason. An unknown reason counts as `stop`. */
function toFinishReason(reason: string, hasToolCalls: boolean): FinishReason {
  if (LENGTH_REASONS.has(reason)) return 'length'
  if (FILTER_REASONS.has(reason)) return 'content_filter'
  return hasToolCalls ? 'tool_calls' : 'stop'
}

/** `CONTINUATION`: another request would return more (docs/providers.md, "Gemini"). */
const LENGTH_REASONS = new Set(['MAX_TOKENS', 'CONTINUATION'])

const FILTER_REASONS = new Set(
  `SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII MODEL_ARMOR
  IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER NO_IMAGE`.split(/\s+/),
)

/** The model produced nothing that can be delivered. A retry may succeed. */
const FAILURE_REASONS = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MALFORMED_RESPONSE',
])
