import type { ChatRequest, Message } from '../../core/contract/chat.ts'
import { convert, drop, type FieldRules, rename } from '../../core/contract/chat-format.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { Model, Target } from '../../core/contract/provider.ts'
import { CHAT_PATTERNS, CHAT_PLACES, createChatAdapter } from '../chat-format/adapter.ts'
import { createOpenAiEmbeddings } from '../chat-format/embeddings.ts'
import { type ChatSettings, toFieldRules } from '../chat-format/field-settings.ts'
import { OPENAI_LIMITS } from '../shared/api-limits.ts'
import { EFFORTS, findNearestEffort } from '../shared/efforts.ts'
import { WEB_IMAGES } from '../shared/place-media.ts'
import { OPENAI_QUIRKS, quirksOf } from '../shared/quirks.ts'
import { writeBody } from '../shared/write-body.ts'
import { createOpenAiStreamReader, parseOpenAiReply } from './responses-reply.ts'
import { buildResponsesRequest, requiresResponses } from './responses-request.ts'

/** Compatible providers have this format, too, but know further fields and types of media. */
const OPENAI = 'openai'

const OPENAI_PLACES = { ...CHAT_PLACES, imageTypes: WEB_IMAGES }

/**
 * OpenAI's chat completions, which are also the canonical format
 * (https://platform.openai.com/docs/api-reference/chat and docs/providers.md, "OpenAI"), with the settings of
 * a compatible provider. What OpenAI's newest models take in the Responses API only is converted.
 */
export function createOpenAiAdapter(settings: ChatSettings = {}): ReturnType<typeof createChatAdapter> {
  const { fields, messages } = toFieldRules(settings)
  const rules = new Map(ALL_RULES.map((own) => [own, withFields(own, fields)]))
  const { body } = settings
  const chat = createChatAdapter({
    format: 'openai',
    limits: OPENAI_LIMITS,
    quirks: OPENAI_QUIRKS,
    write: writeBody,
    fields: ({ entry }) => rules.get(rulesOf(entry)) ?? COMMON_RULES,
    media: ({ provider }) => (provider === OPENAI ? OPENAI_PLACES : CHAT_PLACES),
    parseReply: parseOpenAiReply,
    ...CHAT_PATTERNS,
    createStreamReader: createOpenAiStreamReader,
    ...(Object.keys(messages).length > 0 && { messageFields: messages }),
    ...(body !== undefined && { build: (request) => withoutFieldsOf(request, body) }),
  })
  return {
    ...chat,
    operations: { ...chat.operations, embeddings: createOpenAiEmbeddings(fields) },
    buildRequest(request, target) {
      const asked = toSentEffort(request.reasoning_effort, request, target) ?? undefined
      if (requiresResponses(request, asked, target.entry))
        return buildResponsesRequest(request, target, asked)
      const isOpenAi = target.provider === OPENAI && request.messages.some(hasReplyFields)
      return chat.buildRequest(isOpenAi ? withoutReplyFields(request) : request, target)
    },
  }
}

const COMMON_RULES: FieldRules = {
  extra_content: drop,
  // OpenAI accepts metadata only with `store`; without it, metadata is for routing rules.
  metadata: convert((metadata, { store }) => (store === true ? metadata : undefined)),
  reasoning_effort: { convert: toSentEffort, isTold: true },
}

/** Reasoning models reject `max_tokens`, even together with `max_completion_tokens`. */
const REASONING_RULES: FieldRules = { ...COMMON_RULES, max_tokens: rename('max_completion_tokens') }

const PLAIN_RULES: FieldRules = { ...COMMON_RULES, reasoning_effort: drop, verbosity: drop }

const NO_SAMPLING: FieldRules = Object.fromEntries(
  [
    ...['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'],
    ...['logprobs', 'top_logprobs', 'logit_bias'],
  ].map((field) => [field, drop]),
)

const REASONING_ONLY_RULES: FieldRules = { ...NO_SAMPLING, ...REASONING_RULES }
const PLAIN_ONLY_RULES: FieldRules = { ...NO_SAMPLING, ...PLAIN_RULES }

const ALL_RULES = [COMMON_RULES, REASONING_RULES, PLAIN_RULES, REASONING_ONLY_RULES, PLAIN_ONLY_RULES]

/** What a model refuses is left out, whatever its provider says. */
function withFields(own: FieldRules, fields: FieldRules): FieldRules {
  const applied = Object.entries(fields).filter(([field]) => own[field]?.name !== null)
  return applied.length === 0 ? own : { ...own, ...Object.fromEntries(applied) }
}

/** Callers may set the fields themselves. */
function withoutFieldsOf(request: ChatRequest, body: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([field]) => request[field] === undefined))
}

export const openai = createOpenAiAdapter()

function rulesOf(entry: Model | undefined): FieldRules {
  if (entry === undefined) return COMMON_RULES
  if (entry.reasoning) return entry.sampling ? REASONING_RULES : REASONING_ONLY_RULES
  return entry.sampling ? PLAIN_RULES : PLAIN_ONLY_RULES
}

/** Returns the nearest effort that the model supports. Unknown efforts are for the provider to judge. */
function toSentEffort(effort: unknown, _: ChatRequest, { entry }: Target): unknown {
  const { efforts } = quirksOf(OPENAI_QUIRKS, entry)
  if (typeof effort !== 'string' || efforts === undefined || !EFFORTS.includes(effort)) return effort
  return findNearestEffort(effort, efforts)
}

/** Fields of replies that OpenAI has no place for in requests. Some compatible providers read them. */
function hasReplyFields({ annotations, images }: Message): boolean {
  return annotations !== undefined || images !== undefined
}

function withoutReplyFields(request: ChatRequest): ChatRequest {
  const messages = request.messages.map((message) =>
    hasReplyFields(message) ? { ...message, annotations: undefined, images: undefined } : message,
  )
  return { ...request, messages }
}
