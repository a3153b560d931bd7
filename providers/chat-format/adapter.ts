import type { ChatRequest } from '../../core/contract/chat.ts'
import type { ChatFormat, FieldRules } from '../../core/contract/chat-format.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { ParameterChange, ProviderAdapter, Target } from '../../core/contract/provider.ts'
import { clampOutputLimit, findLostAuthors, findOmittedFields, outputLimitOf } from '../shared/deviations.ts'
import { type MediaPlaces, placeMedia, TEXT_RESULTS } from '../shared/place-media.ts'
import { joinLists } from '../shared/prepare-request.ts'
import type { PatternAdapter } from '../shared/reply-patterns.ts'
import { createOpenAiEmbeddings } from './embeddings.ts'
import { parseChatError } from './errors.ts'
import { applyRule, type Body, findRuled, namesOf, type RuledField } from './field-rules.ts'
import { applyMessageRules, checkOpenAiFile, toCompatibleMessages } from './messages.ts'
import { openAiModerations } from './moderations.ts'
import { parseChatReply } from './reply.ts'
import { ChatReplyPatterns } from './reply-patterns.ts'
import { createChatStreamReader } from './stream.ts'
import { buildBearerAuth, buildChatHeaders } from './wire.ts'

interface BuiltInFormat extends ChatFormat, Pick<PatternAdapter, 'createReplyPatterns'> {
  /** Default: texts only in tool results, and the images and files of chat completions. */
  media?(target: Target): MediaPlaces
  /** What becomes of fields of messages. */
  readonly messageFields?: FieldRules
  /** Default: copies nothing that was received: functions of a package may have changed it in place. */
  write?(body: JsonObject): string | Buffer
}

/** For formats whose replies `parseChatReply` parses. */
export const CHAT_PATTERNS: Required<Pick<PatternAdapter, 'createReplyPatterns'>> = {
  createReplyPatterns: () => new ChatReplyPatterns(),
}

type ChatAdapter = PatternAdapter & Required<Pick<ProviderAdapter, 'parseError' | 'operations'>>

/** Chat completions have no media in tool messages. */
export const CHAT_PLACES: MediaPlaces = { results: TEXT_RESULTS, check: checkOpenAiFile }

/** Builds the adapter of a declared format (docs/plugins.md, "Compatible providers"). */
export function createChatAdapter(declared: BuiltInFormat): ChatAdapter {
  const {
    path = '/chat/completions',
    fields,
    otherFields = 'send',
    media,
    messageFields,
    ...format
  } = declared
  const { build, findOmitted, findChanges, write = JSON.stringify, ...own } = format
  const sendsAll = otherFields === 'send'
  return {
    buildAuthHeaders: buildBearerAuth,
    parseReply: parseChatReply,
    ...(own.parseReply === undefined && CHAT_PATTERNS),
    createStreamReader: createChatStreamReader,
    parseError: parseChatError,
    operations: { embeddings: createOpenAiEmbeddings(), moderation: openAiModerations },
    ...(sendsAll && { reads: ['custom_calls'] }),
    ...own,
    buildRequest(given, target) {
      const { messages, omitted } = placeMedia(given.messages, media?.(target) ?? CHAT_PLACES, target)
      const limited = limitOutput(given, target)
      const request = messages === given.messages ? limited : { ...limited, messages }
      const isStream = request.stream === true
      const rules = typeof fields === 'function' ? fields(target) : fields
      const ruled = findRuled(request, rules)
      // Not a spread: V8 then makes a hidden class for each object that gets another field.
      const body: Body = sendsAll ? Object.assign({}, request) : {}
      for (const each of ruled) applyRule(body, each, request, target)
      body.model = target.model
      if (isStream) body.stream = true
      if (sendsAll) {
        const compatible = toCompatibleMessages(messages)
        body.messages = messageFields
          ? applyMessageRules(compatible, messageFields, request, target)
          : compatible
        if (isStream && rules.stream_options?.name !== null)
          body.stream_options = { ...request.stream_options, include_usage: true }
        else if (body.stream_options !== undefined) body.stream_options = undefined
        // A choice that the provider does not know is left to the model.
        if (request.tool_choice === 'none' && body.tool_choice === undefined) body.tools = undefined
      }
      if (build !== undefined) Object.assign(body, build(request, target))
      const among = sendsAll ? ruled.map(({ field }) => field) : undefined
      const isSent = (field: string) => namesOf(field, rules[field]).some((name) => body[name] !== undefined)
      const unsent = among?.length === 0 ? among : findOmittedFields(request, isSent, among)
      const lost = messageFields?.name?.name === null ? findLostAuthors(request) : []
      return {
        path,
        headers: buildChatHeaders(isStream),
        body: write(body),
        omitted: joinLists(joinLists(omitted, unsent), joinLists(lost, findOmitted?.(request) ?? [])),
        changed: joinLists(compareFields(given, request, ruled, body), findChanges?.(request, body) ?? []),
      }
    },
  }
}

/** Returns the request with at most the output limit of the model. */
function limitOutput(request: ChatRequest, { entry }: Target): ChatRequest {
  const { field, limit } = outputLimitOf(request)
  const clamped = clampOutputLimit(request, entry)
  return clamped === limit ? request : { ...request, [field]: clamped }
}

/** The changes of the output limit, and of what rules tell. */
function compareFields(
  given: ChatRequest,
  request: ChatRequest,
  ruled: readonly RuledField[],
  body: JsonObject,
): readonly ParameterChange[] {
  const changed: ParameterChange[] = []
  const compare = (param: string, to: unknown) => {
    const from = given[param]
    if (from != null && to !== undefined && from !== to) changed.push({ param, from, to })
  }
  for (const { field, rule } of ruled) {
    const { name, isTold, builtAs } = rule
    if (isTold || builtAs?.includes(field)) compare(field, body[name ?? field])
  }
  const { field } = outputLimitOf(request)
  compare(field, request[field])
  return changed
}
