import type { ChatRequest, Message } from '../../core/contract/chat.ts'
import { builtAs, convert, keep, oneOf, rename } from '../../core/contract/chat-format.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ParameterChange, Target } from '../../core/contract/provider.ts'
import { createChatAdapter } from '../chat-format/adapter.ts'
import { withJsonInstruction } from '../chat-format/messages.ts'
import { applyAllowedTools, toChatTools, toNamedToolChoice } from '../chat-format/tools.ts'
import { DEEPSEEK_LIMITS } from '../shared/api-limits.ts'
import { findLostAuthors } from '../shared/deviations.ts'
import { asNumber, asObject, asString } from '../shared/fields.ts'
import { TEXT_RESULTS } from '../shared/place-media.ts'
import { DEEPSEEK_QUIRKS, quirksOf } from '../shared/quirks.ts'
import { writeBody } from '../shared/write-body.ts'
import { toContentPart, toDeepSeekMessages } from './messages.ts'

const MEDIA_PLACES = { results: TEXT_RESULTS, check: toContentPart }

/**
 * DeepSeek's chat completions (https://api-docs.deepseek.com/api/create-chat-completion and
 * docs/providers.md, "DeepSeek"). The base URL is `https://api.deepseek.com`. Its records are
 * OpenAI's with additional fields, so clients get them unchanged.
 */
export const deepseek = createChatAdapter({
  format: 'deepseek',
  limits: DEEPSEEK_LIMITS,
  quirks: DEEPSEEK_QUIRKS,
  otherFields: 'drop',
  write: writeBody,
  fields: {
    temperature: convert((value, request, target) =>
      thinkingOf(request, target) === 'disabled' ? value : undefined,
    ),
    top_p: { convert: toTopP, isTold: true },
    max_tokens: keep,
    max_completion_tokens: rename('max_tokens'),
    stop: keep,
    response_format: convert((format) => ({
      type: asObject(format).type === 'text' ? 'text' : 'json_object',
    })),
    logprobs: oneOf(true),
    top_logprobs: convert(asNumber),
    reasoning_effort: builtAs('reasoning_effort', 'thinking'),
  },
  media: () => MEDIA_PLACES,
  build: (request, target) => ({
    messages: toDeepSeekMessages(withFormatInstruction(request)),
    stream_options: request.stream ? { include_usage: true } : undefined,
    ...toTools(request),
    ...toReasoning(request, target),
    user_id: (request.user ?? asString(request.safety_identifier)) || undefined,
  }),
  findOmitted: (request) => [
    ...findLostAuthors(request, 'user'),
    ...(request.tools?.some((tool) => tool.function?.strict === true) ? ['strict in tools'] : []),
  ],
  findChanges: ({ response_format }) => (response_format?.type === 'json_schema' ? [JSON_SCHEMA_CHANGE] : []),
  operations: {},
})

const JSON_SCHEMA_CHANGE: ParameterChange = {
  param: 'response_format',
  from: 'json_schema',
  to: 'json_object, with the schema in the prompt',
  reason: 'deepseek does not enforce schemas',
}

/**
 * JSON mode in place of structured outputs needs the schema, which the model follows, or else the word JSON.
 */
function withFormatInstruction({ messages, response_format }: ChatRequest): readonly Message[] {
  if (response_format == null || response_format.type === 'text') return messages
  if (response_format.type === 'json_object') return withJsonInstruction(messages)
  const { schema, description } = asObject(response_format.json_schema)
  const instruction = [
    asString(description),
    'Answer with a single JSON object that matches this JSON Schema, and nothing else:',
    JSON.stringify(asObject(schema)),
  ]
  const content = instruction.filter((line) => line !== '').join('\n')
  return [{ role: 'system', content }, ...messages]
}

/** Strict tools require the beta base URL, and all tools to be strict. */
function toTools(request: ChatRequest): JsonObject {
  const chosen = applyAllowedTools(request)
  const tools = toChatTools(chosen.tools)?.map(({ type, function: { strict: _, ...called } }) => ({
    type,
    function: called,
  }))
  if (tools === undefined) return {}
  const choice = chosen.tool_choice
  const isPlain = choice === 'auto' || choice === 'none' || choice === 'required'
  return { tools, tool_choice: isPlain ? choice : toNamedToolChoice(choice) }
}

type Thinking = 'enabled' | 'disabled'

/**
 * Whether the model thinks (docs/providers.md, "DeepSeek"). DeepSeek's own `thinking` and
 * `reasoning_effort` decide, then a retired model name that was requested. Undefined, the model thinks.
 */
function thinkingOf(
  { thinking, reasoning_effort }: ChatRequest,
  { alias, entry }: Target,
): Thinking | undefined {
  const { type } = asObject(thinking)
  if (type === 'disabled' || reasoning_effort === 'none') return 'disabled'
  if (type === 'enabled' || reasoning_effort != null) return 'enabled'
  return alias === undefined ? undefined : quirksOf(DEEPSEEK_QUIRKS, entry).thinking_by_alias?.[alias]
}

function toReasoning(request: ChatRequest, target: Target): JsonObject {
  const type = thinkingOf(request, target)
  const { reasoning_effort: effort } = request
  if (type === undefined) return {}
  const isAsked = type === 'enabled' && effort != null
  return { thinking: { type }, ...(isAsked && { reasoning_effort: EFFORTS.get(effort) ?? 'high' }) }
}

const EFFORTS: ReadonlyMap<string, string> = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'high'],
  ['high', 'high'],
  ['xhigh', 'high'],
  ['max', 'max'],
])

const MIN_TOP_P_WHILE_THINKING = 0.95

/** Each model supports `top_p` in one mode only (docs/providers.md, "DeepSeek"). */
function toTopP(topP: unknown, request: ChatRequest, target: Target): unknown {
  const mode = quirksOf(DEEPSEEK_QUIRKS, target.entry).top_p
  if (mode === undefined) return topP
  const isThinking = thinkingOf(request, target) !== 'disabled'
  if (isThinking !== (mode === 'thinking')) return undefined
  return isThinking ? Math.max(Number(topP), MIN_TOP_P_WHILE_THINKING) : topP
}
