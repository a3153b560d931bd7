import type { ChatRequest } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ParameterChange, ProviderRequest, Target } from '../../core/contract/provider.ts'
import {
  clampOutputLimit,
  findChangedFields,
  findLostAuthors,
  findOmittedFields,
  isSentIn,
  outputLimitOf,
  type RenamedFields,
} from '../shared/deviations.ts'
import { type MediaPlaces, placeMedia, TEXT_RESULTS } from '../shared/place-media.ts'
import { findWeakenedSchema } from '../shared/schema-constraints.ts'
import { toGeminiMessages, toPart } from './messages.ts'
import { toGeminiReasoning } from './reasoning.ts'
import { ENFORCED_CONSTRAINTS, toGeminiResponseFormat } from './response-format.ts'
import { toGeminiTools } from './tools.ts'
import type { GeminiBody, GeminiFamily, GenerationConfig } from './wire.ts'

/**
 * Builds the request field by field, because Gemini rejects unknown fields
 * (docs/providers.md, "Parameters" and "Gemini"). Throws a `GatewayError` for content that Gemini
 * does not support.
 */
export function buildGeminiRequest(
  request: ChatRequest,
  target: Target,
  { pathOf, fieldsOf }: GeminiApi = GEMINI_API,
): ProviderRequest {
  const family = familyOf(target.model)
  const { messages, omitted } = placeMedia(request.messages, MEDIA_PLACES, target)
  const body: GeminiBody = {
    ...toGeminiMessages(messages, family),
    ...toGeminiTools(request, family),
    generationConfig: toGenerationConfig(request, target, family),
  }
  const sentFields = { ...body, ...body.generationConfig }
  return {
    // Without `alt=sse`, a stream is sent as one JSON array.
    path: pathOf(target.model, request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent'),
    headers: {
      'content-type': 'application/json',
      accept: request.stream ? 'text/event-stream' : 'application/json',
    },
    body: JSON.stringify({ ...body, ...fieldsOf?.(request) }),
    omitted: [
      ...omitted,
      ...findOmittedFields(request, isSentIn(sentFields, RENAMED_FIELDS)),
      ...findLostAuthors(request),
    ],
    changed: findChanges(request, sentFields),
  }
}

/** Only models from Gemini 3 on accept media in results; all accept them beside results. */
const MEDIA_PLACES: MediaPlaces = {
  results: TEXT_RESULTS,
  check: toPart,
  imageTypes: new Set(['image/png', 'image/jpeg', 'image/jpg', 'image/webp', 'image/heic', 'image/heif']),
}

function findChanges(
  request: ChatRequest,
  { maxOutputTokens, thinkingConfig }: GenerationConfig,
): readonly ParameterChange[] {
  const changes = findChangedFields(request, {
    [outputLimitOf(request).field]: maxOutputTokens,
    reasoning_effort: levelOf(thinkingConfig),
  })
  const weakened = findWeakenedSchema(request, 'gemini', ENFORCED_CONSTRAINTS)
  return weakened ? [...changes, weakened] : changes
}

/** The effort that a level stands for; undefined for a budget, which every effort has. */
function levelOf(thinking: GenerationConfig['thinkingConfig']): string | undefined {
  return thinking && 'thinkingLevel' in thinking ? thinking.thinkingLevel.toLowerCase() : undefined
}

const RENAMED_FIELDS: RenamedFields = {
  max_tokens: ['maxOutputTokens'],
  max_completion_tokens: ['maxOutputTokens'],
  stop: ['stopSequences'],
  top_p: ['topP'],
  presence_penalty: ['presencePenalty'],
  frequency_penalty: ['frequencyPenalty'],
  tool_choice: ['toolConfig'],
  response_format: ['responseMimeType'],
  reasoning_effort: ['thinkingConfig'],
}

/** What differs between the services that have Gemini. */
export interface GeminiApi {
  pathOf(model: string, method: string): string
  /** Returns further fields of the body. */
  fieldsOf?(request: ChatRequest): JsonObject
}

const GEMINI_API: GeminiApi = {
  pathOf: (model, method) => `/v1beta/models/${encodeURIComponent(model)}:${method}`,
}

/** Names without a version, such as `gemini-flash-latest`, are those of current models. */
function familyOf(model: string): GeminiFamily {
  if (model.startsWith('gemma')) return 'gemma'
  return /^gemini-[12]\b/.test(model) ? 'gemini-2' : 'gemini'
}

/** https://ai.google.dev/api/generate-content#v1beta.GenerationConfig */
function toGenerationConfig(request: ChatRequest, target: Target, family: GeminiFamily): GenerationConfig {
  return {
    ...(target.entry?.sampling !== false && toSamplingFields(request, family)),
    maxOutputTokens: clampOutputLimit(request, target.entry),
    stopSequences: typeof request.stop === 'string' ? [request.stop] : (request.stop ?? undefined),
    seed: request.seed ?? undefined,
    ...toGeminiResponseFormat(request, family),
    thinkingConfig: toGeminiReasoning(request.reasoning_effort, target, family),
  }
}

/** Gemini 2.5 rejects penalties. */
function toSamplingFields(request: ChatRequest, family: GeminiFamily): GenerationConfig {
  const hasPenalties = family !== 'gemini-2'
  return {
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    presencePenalty: (hasPenalties && request.presence_penalty) || undefined,
    frequencyPenalty: (hasPenalties && request.frequency_penalty) || undefined,
  }
}
