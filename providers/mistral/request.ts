import type { ChatRequest } from '../../core/contract/chat.ts'
import { isJsonObject } from '../../core/contract/json.ts'
import type { Model, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { withJsonInstruction } from '../chat-format/messages.ts'
import { buildChatHeaders } from '../chat-format/request.ts'
import { applyAllowedTools, toChatTools } from '../chat-format/tools.ts'
import { clampOutputLimit, findChangedFields, outputLimitOf } from '../shared/changed-fields.ts'
import { asObject, asString } from '../shared/fields.ts'
import { findOmittedFields, isSentIn } from '../shared/omitted-fields.ts'
import { type MediaPlaces, placeMedia, WEB_IMAGES } from '../shared/place-media.ts'
import { toContentChunk, toMistralMessages } from './messages.ts'
import { toMistralReasoning } from './reasoning.ts'
import { toMistralToolChoice } from './tools.ts'
import type { MistralBody, MistralResponseFormat } from './wire.ts'

/**
 * Builds the request field by field (docs/providers.md, "Parameters" and "Mistral requests"). Throws a
 * `GatewayError` for content that Mistral does not support.
 */
export function buildMistralRequest(request: ChatRequest, target: Target): ProviderRequest {
  const { messages, omitted } = placeMedia(request.messages, MEDIA_PLACES, target)
  const body = buildBody({ ...request, messages }, target)
  return {
    path: '/v1/chat/completions',
    headers: buildChatHeaders(request.stream === true),
    body: JSON.stringify(body),
    omitted: [...omitted, ...findOmittedFields(request, isSentIn(body, RENAMED_FIELDS))],
    changed: findChangedFields(request, {
      temperature: body.temperature,
      [outputLimitOf(request).field]: body.max_tokens,
      reasoning_effort: body.reasoning_effort ?? promptModeOf(request, body),
    }),
  }
}

const CHUNKS: ReadonlySet<string> = new Set(['image_url', 'input_audio', 'file', 'document_url'])

/** A message of the user could not follow a result. */
const MEDIA_PLACES: MediaPlaces = { results: CHUNKS, check: toContentChunk, imageTypes: WEB_IMAGES }

/** A model with a prompt mode has one effort, which is high. */
function promptModeOf({ reasoning_effort }: ChatRequest, { prompt_mode }: MistralBody): string | undefined {
  if (prompt_mode === undefined || reasoning_effort === 'high') return undefined
  return `prompt_mode ${prompt_mode}`
}

const RENAMED_FIELDS = {
  max_completion_tokens: ['max_tokens'],
  seed: ['random_seed'],
  reasoning_effort: ['reasoning_effort', 'prompt_mode'],
}

function buildBody(request: ChatRequest, target: Target): MistralBody {
  const format = toResponseFormat(request.response_format)
  const messages = format?.type === 'json_object' ? withJsonInstruction(request.messages) : request.messages
  const chosen = applyAllowedTools(request)
  const tools = toChatTools(chosen.tools)
  const reasoning = toMistralReasoning(request, target.entry)
  return {
    model: target.model,
    messages: toMistralMessages(messages, isReasoning(reasoning, target.entry)),
    stream: request.stream ? true : undefined,
    temperature: request.temperature == null ? undefined : Math.min(request.temperature, MAX_TEMPERATURE),
    top_p: request.top_p ?? undefined,
    max_tokens: clampOutputLimit(request, target.entry),
    stop: request.stop ?? undefined,
    random_seed: request.seed ?? undefined,
    presence_penalty: request.presence_penalty ?? undefined,
    frequency_penalty: request.frequency_penalty ?? undefined,
    response_format: format,
    tools,
    tool_choice: tools && toMistralToolChoice(chosen.tool_choice),
    parallel_tool_calls: tools && (request.parallel_tool_calls ?? undefined),
    ...reasoning,
    ...toPassedThroughFields(request),
  }
}

/** Models that do not reason may refuse the thinking of others. */
function isReasoning(
  { reasoning_effort: effort, prompt_mode }: Partial<MistralBody>,
  entry: Model | undefined,
): boolean {
  if (entry !== undefined) return entry.quirks.efforts !== undefined || entry.quirks.thinking !== undefined
  return prompt_mode !== undefined || (effort !== undefined && effort !== 'none')
}

/** Some of Mistral's pages allow 1.5, its error glossary does not. */
const MAX_TEMPERATURE = 1

function toResponseFormat(format: ChatRequest['response_format']): MistralResponseFormat | undefined {
  if (format == null) return undefined
  if (!isJsonObject(format.json_schema)) return { type: format.type }
  const { name, description, schema, strict } = format.json_schema
  return {
    type: format.type,
    json_schema: {
      name: asString(name),
      ...(typeof description === 'string' && { description }),
      schema: asObject(schema),
      ...(typeof strict === 'boolean' && { strict }),
    },
  }
}

/** Fields that Mistral shares with OpenAI, and its own fields, where they hold a value that it accepts. */
function toPassedThroughFields(request: ChatRequest) {
  const { prediction, prompt_cache_key, service_tier, safe_prompt } = request
  const predicted = asString(asObject(prediction).content)
  return {
    prediction: predicted === '' ? undefined : { type: 'content' as const, content: predicted },
    prompt_cache_key: asString(prompt_cache_key) || undefined,
    service_tier: service_tier === 'auto' || service_tier === 'standard_only' ? service_tier : undefined,
    safe_prompt: typeof safe_prompt === 'boolean' ? safe_prompt : undefined,
  } satisfies Partial<MistralBody>
}
