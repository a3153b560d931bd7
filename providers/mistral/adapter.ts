import { type ChatRequest, ReplyEvent } from '../../core/contract/chat.ts'
import { builtAs, clamp, convert, keep, oneOf, rename } from '../../core/contract/chat-format.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import type { Model, OperationFormat, StreamReader } from '../../core/contract/provider.ts'
import { createChatAdapter } from '../chat-format/adapter.ts'
import { parseEmbeddingsReply, parseEmbeddingsText } from '../chat-format/embeddings.ts'
import { withJsonInstruction } from '../chat-format/messages.ts'
import { parseModerationReply } from '../chat-format/moderations.ts'
import { parseChatReply } from '../chat-format/reply.ts'
import { createChatStreamReader } from '../chat-format/stream.ts'
import { applyAllowedTools, toChatTools, toNamedToolChoice } from '../chat-format/tools.ts'
import { buildChatHeaders } from '../chat-format/wire.ts'
import { MISTRAL_LIMITS } from '../shared/api-limits.ts'
import { findLostAuthors } from '../shared/deviations.ts'
import { findNearestEffort } from '../shared/efforts.ts'
import { asObject, asString } from '../shared/fields.ts'
import { dimensionsToSend, textInputsOf } from '../shared/input-batches.ts'
import { WEB_IMAGES } from '../shared/place-media.ts'
import { MISTRAL_QUIRKS, quirksOf } from '../shared/quirks.ts'
import { toReplyEvents } from '../shared/stream.ts'
import { writeBody } from '../shared/write-body.ts'
import { toContentChunk, toMistralMessages } from './messages.ts'

/** Mistral's embeddings: https://docs.mistral.ai/api/endpoint/embeddings. Vectors are always numbers. */
const mistralEmbeddings: OperationFormat = {
  buildRequest(request, target) {
    const output_dimension = dimensionsToSend(request, target)
    const body = { model: target.model, input: textInputsOf(request, target), output_dimension }
    const headers = buildChatHeaders(false)
    return { path: '/v1/embeddings', headers, body: JSON.stringify(body), omitted: [] }
  },
  parseReply: parseEmbeddingsReply,
  parseText: parseEmbeddingsText,
}

/** Mistral's moderations: https://docs.mistral.ai/api/endpoint/classifiers. */
const mistralModerations: OperationFormat = {
  buildRequest(request, target) {
    const hasMedia = request.messages.some(
      ({ content }) => Array.isArray(content) && content.some(({ type }) => type !== 'text'),
    )
    if (hasMedia) {
      const message = `${target.model} judges texts only. Use a model of OpenAI for images.`
      throw new GatewayError('unsupported_parameter', message, { param: 'input' })
    }
    const body = JSON.stringify({ model: target.model, input: textInputsOf(request, target) })
    return { path: '/v1/moderations', headers: buildChatHeaders(false), body, omitted: [] }
  },
  parseReply: parseModerationReply,
}

/** A message of the user could not follow a result, so media stays in it. */
const MEDIA_PLACES = {
  results: new Set(['image_url', 'input_audio', 'file', 'document_url']),
  check: toContentChunk,
  imageTypes: WEB_IMAGES,
}

/**
 * Mistral's chat completions (https://docs.mistral.ai/api/endpoint/chat and docs/providers.md, "Mistral").
 * The base URL is `https://api.mistral.ai`. Mistral rejects unknown fields.
 */
export const mistral = createChatAdapter({
  format: 'mistral',
  path: '/v1/chat/completions',
  limits: MISTRAL_LIMITS,
  quirks: MISTRAL_QUIRKS,
  otherFields: 'drop',
  write: writeBody,
  fields: {
    // Some of Mistral's pages allow 1.5, its error glossary does not.
    temperature: clamp(0, 1),
    top_p: keep,
    max_tokens: keep,
    max_completion_tokens: rename('max_tokens'),
    stop: keep,
    seed: rename('random_seed'),
    presence_penalty: keep,
    frequency_penalty: keep,
    response_format: convert(toResponseFormat),
    reasoning_effort: builtAs('reasoning_effort', 'prompt_mode'),
    prediction: convert(toPrediction),
    prompt_cache_key: convert((key) => asString(key) || undefined),
    service_tier: oneOf('auto', 'standard_only'),
    safe_prompt: oneOf(true, false),
  },
  media: () => MEDIA_PLACES,
  build: (request, { entry }) => {
    const reasoning = toReasoning(request, entry)
    const needsWord = request.response_format?.type === 'json_object'
    const messages = needsWord ? withJsonInstruction(request.messages) : request.messages
    return {
      messages: toMistralMessages(messages, isReasoning(reasoning, entry)),
      ...toTools(request),
      ...reasoning,
    }
  },
  findOmitted: (request) => findLostAuthors(request),
  // A model with a prompt mode has one effort, which is high.
  findChanges: ({ reasoning_effort: from }, { prompt_mode }) =>
    from == null || prompt_mode === undefined || from === 'high'
      ? []
      : [{ param: 'reasoning_effort', from, to: `prompt_mode ${prompt_mode}` }],
  parseReply: (body) => new ReplyEvent(parseChatReply(body).parts),
  createStreamReader,
  operations: { embeddings: mistralEmbeddings, moderation: mistralModerations },
})

function toResponseFormat(format: unknown): JsonObject {
  const { type, json_schema } = asObject(format)
  if (!isJsonObject(json_schema)) return { type }
  const { name, description, schema, strict } = json_schema
  return {
    type,
    json_schema: {
      name: asString(name),
      ...(typeof description === 'string' && { description }),
      schema: asObject(schema),
      ...(typeof strict === 'boolean' && { strict }),
    },
  }
}

function toPrediction(prediction: unknown): JsonObject | undefined {
  const content = asString(asObject(prediction).content)
  return content === '' ? undefined : { type: 'content', content }
}

function toTools(request: ChatRequest): JsonObject {
  const chosen = applyAllowedTools(request)
  const tools = toChatTools(chosen.tools)
  if (tools === undefined) return {}
  const parallel_tool_calls = request.parallel_tool_calls ?? undefined
  return { tools, tool_choice: toToolChoice(chosen.tool_choice), parallel_tool_calls }
}

function toToolChoice(choice: ChatRequest['tool_choice']): unknown {
  if (choice === 'auto' || choice === 'none' || choice === 'any') return choice
  return choice === 'required' ? 'any' : toNamedToolChoice(choice)
}

const PROMPT_MODE = { prompt_mode: 'reasoning' }

/**
 * Asks for reasoning in the way the model supports: with the nearest of its efforts, with the prompt mode, or
 * not at all. Models without a row in the catalogue get the requested effort.
 */
function toReasoning(
  { reasoning_effort: effort, prompt_mode }: ChatRequest,
  entry: Model | undefined,
): JsonObject {
  if (effort == null) return prompt_mode === 'reasoning' ? PROMPT_MODE : {}
  if (entry === undefined) return { reasoning_effort: effort }
  const { thinking, thinking_off, efforts = [] } = quirksOf(MISTRAL_QUIRKS, entry)
  if (effort === 'none' && thinking_off) return { reasoning_effort: effort }
  if (thinking === 'prompt_mode') return effort === 'none' ? {} : PROMPT_MODE
  return { reasoning_effort: findNearestEffort(effort, efforts) }
}

/** Models that do not reason may refuse the thinking of others. */
function isReasoning(
  { reasoning_effort: effort, prompt_mode }: JsonObject,
  entry: Model | undefined,
): boolean {
  if (entry !== undefined) return entry.quirks.efforts !== undefined || entry.quirks.thinking !== undefined
  return prompt_mode !== undefined || (effort !== undefined && effort !== 'none')
}

/**
 * Reads chat completion chunks. Replies keep only their parts, and chunks without any are dropped: their
 * content may be a list, and the usage arrives with the finish reason, where clients do not expect it
 * (docs/providers.md, "Mistral").
 */
function createStreamReader(request?: ChatRequest): StreamReader {
  const reader = createChatStreamReader(request)
  const withParts = (events: readonly ReplyEvent[]) => events.flatMap(({ parts }) => toReplyEvents(parts))
  return {
    isDone: () => reader.isDone?.() === true,
    read: (event) => withParts(reader.read(event)),
    end: () => withParts(reader.end()),
  }
}
