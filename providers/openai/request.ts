import type { ChatRequest, Message, ToolCall } from '../../core/contract/chat.ts'
import type { Model, ProviderRequest, Target } from '../../core/contract/provider.ts'
import { buildChatHeaders } from '../chat-format/request.ts'
import { clampOutputLimit, findChangedFields, outputLimitOf } from '../shared/changed-fields.ts'
import { EFFORTS, findNearestEffort } from '../shared/efforts.ts'
import { toChatReasoning } from '../shared/own-reasoning.ts'
import { type MediaPlaces, placeMedia, TEXT_RESULTS, WEB_IMAGES } from '../shared/place-media.ts'
import { checkOpenAiFile, withOpenAiFiles } from './files.ts'
import { buildResponsesRequest, requiresResponses } from './responses-request.ts'

/**
 * Passes the client's request through (docs/providers.md, "OpenAI"), unless the model takes it only in the
 * Responses API. Changes only the model name, asks
 * streams for their usage, and leaves out what the model does not support.
 */
export function buildOpenAiRequest(request: ChatRequest, target: Target): ProviderRequest {
  const effort = findSentEffort(request, target.entry)
  const asked = effort ?? request.reasoning_effort ?? undefined
  if (requiresResponses(request, asked, target.entry)) return buildResponsesRequest(request, target, asked)
  const isOpenAi = target.provider === 'openai'
  const placed = placeMedia(request.messages, isOpenAi ? OPENAI_PLACES : MEDIA_PLACES, target)
  const sent = toSentMessages(withOpenAiFiles(placed.messages))
  const messages = isOpenAi ? withoutReplyFields(sent) : sent
  const body: Record<string, unknown> = { ...request, model: target.model, messages }
  if (body.extra_content !== undefined) body.extra_content = undefined
  // OpenAI accepts metadata only with `store`; without it, metadata is for routing rules.
  if (request.store !== true && request.metadata !== undefined) body.metadata = undefined
  if (request.stream) body.stream_options = { ...request.stream_options, include_usage: true }
  else if (request.stream_options !== undefined) body.stream_options = undefined
  const { field } = outputLimitOf(request)
  const limit = clampOutputLimit(request, target.entry)
  if (limit !== undefined) body[field] = limit
  if (effort !== undefined) body.reasoning_effort = effort
  if (target.entry?.reasoning) renameTokenLimit(body)
  const omitted = target.entry ? removeUnsupportedFields(body, target.entry) : []
  omitted.push(...placed.omitted)
  return {
    path: '/chat/completions',
    headers: buildChatHeaders(request.stream === true),
    body: JSON.stringify(body),
    omitted,
    changed: findChangedFields(request, { [field]: limit, reasoning_effort: effort }),
  }
}

/** OpenAI refuses media in tool messages of chat completions. Compatible providers know further types. */
const MEDIA_PLACES: MediaPlaces = { results: TEXT_RESULTS, check: checkOpenAiFile }

const OPENAI_PLACES: MediaPlaces = { ...MEDIA_PLACES, imageTypes: WEB_IMAGES }

/**
 * Returns the nearest effort that the model supports; undefined if that is not known. Efforts that the
 * gateway does not know are for the provider to judge.
 */
function findSentEffort({ reasoning_effort }: ChatRequest, entry: Model | undefined): string | undefined {
  const { efforts } = entry?.quirks ?? {}
  if (reasoning_effort == null || efforts === undefined || !EFFORTS.includes(reasoning_effort))
    return undefined
  return findNearestEffort(reasoning_effort, efforts)
}

/**
 * Removes what replies of other providers hold and clients send back, because OpenAI rejects requests with
 * these fields, and gives reasoning its fields. Returns the same array if there is nothing to change.
 */
function toSentMessages(messages: readonly Message[]): readonly Message[] {
  const isChanged = ({ reasoning_data, tool_calls }: Message) =>
    reasoning_data !== undefined || tool_calls?.some(({ extra_content }) => extra_content !== undefined)
  return messages.some(isChanged) ? messages.map(toSentMessage) : messages
}

function toSentMessage(message: Message): Message {
  const tool_calls = message.tool_calls?.map(({ extra_content: _, ...call }) => call as ToolCall)
  return { ...toChatReasoning(message), ...(tool_calls && { tool_calls }) }
}

/** Fields of replies that OpenAI has no place for in requests. Some compatible providers read them. */
function withoutReplyFields(messages: readonly Message[]): readonly Message[] {
  const isChanged = ({ annotations, images }: Message) => annotations !== undefined || images !== undefined
  if (!messages.some(isChanged)) return messages
  return messages.map((message) =>
    isChanged(message) ? { ...message, annotations: undefined, images: undefined } : message,
  )
}

/** Reasoning models reject `max_tokens`, even together with `max_completion_tokens`. */
function renameTokenLimit(body: Record<string, unknown>): void {
  body.max_completion_tokens ??= body.max_tokens ?? undefined
  body.max_tokens = undefined
}

/** Only reasoning models have them. */
const REASONING_FIELDS = ['reasoning_effort', 'verbosity']

const SAMPLING_FIELDS = [
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'logprobs',
  'top_logprobs',
  'logit_bias',
]

/** Returns the names of the removed fields. They are set to undefined, to keep the object's shape. */
function removeUnsupportedFields(body: Record<string, unknown>, model: Model): string[] {
  const omitted: string[] = []
  const remove = (field: string) => {
    if (body[field] === undefined) return
    if (body[field] !== null) omitted.push(field)
    body[field] = undefined
  }
  if (!model.sampling) SAMPLING_FIELDS.forEach(remove)
  if (!model.reasoning) REASONING_FIELDS.forEach(remove)
  return omitted
}
