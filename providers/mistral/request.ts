import type { ChatRequest } from '../../core/contract/chat.ts'
import { isJsonObject } from '../../core/contract/json.ts'
import type { ProviderRequest, Target } from '../../core/contract/provider.ts'
import { chatHeaders, findOmitted, mentionJson } from '../chat-format/request.ts'
import { parseNamedChoice, toChatTools } from '../chat-format/tools.ts'
import { asObject, asString } from '../shared/fields.ts'
import { writeMessages, writeReasoning } from './messages.ts'
import type { ChatBody, ResponseFormat, ToolChoice } from './wire.ts'

/** The request in Mistral's words, field by field (docs/providers.md, "Parameters" and "Mistral requests"). Throws a `GatewayError` for parts it cannot take. */
export function writeCall(request: ChatRequest, target: Target, apiKey: string): ProviderRequest {
  const format = writeResponseFormat(request.response_format)
  const messages = format?.type === 'json_object' ? mentionJson(request.messages) : request.messages
  const tools = toChatTools(request.tools)
  const body: ChatBody = {
    model: target.model,
    messages: writeMessages(messages),
    stream: request.stream ? true : undefined,
    temperature: request.temperature == null ? undefined : Math.min(request.temperature, HOTTEST),
    top_p: request.top_p ?? undefined,
    max_tokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    stop: request.stop ?? undefined,
    random_seed: request.seed ?? undefined,
    presence_penalty: request.presence_penalty ?? undefined,
    frequency_penalty: request.frequency_penalty ?? undefined,
    response_format: format,
    tools,
    tool_choice: tools && writeToolChoice(request.tool_choice),
    parallel_tool_calls: tools && (request.parallel_tool_calls ?? undefined),
    ...writeReasoning(request, target.entry),
    ...writeOwnFields(request),
  }
  return {
    path: '/v1/chat/completions',
    headers: chatHeaders(apiKey, request.stream === true),
    body: JSON.stringify(body),
    omitted: findOmitted(request, body, RENAMED),
  }
}

/** Some of Mistral's pages allow 1.5, its error glossary does not. */
const HOTTEST = 1

const RENAMED = {
  max_completion_tokens: ['max_tokens'],
  seed: ['random_seed'],
  reasoning_effort: ['reasoning_effort', 'prompt_mode'],
}

function writeToolChoice(choice: ChatRequest['tool_choice']): ToolChoice | undefined {
  switch (choice) {
    case 'auto':
    case 'none':
    case 'any':
      return choice
    case 'required':
      return 'any'
    default:
      return parseNamedChoice(choice)
  }
}

function writeResponseFormat(format: ChatRequest['response_format']): ResponseFormat | undefined {
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

/** Fields that mean the same to Mistral, and its own, where they hold what it takes. */
function writeOwnFields(request: ChatRequest) {
  const { prediction, prompt_cache_key, service_tier, safe_prompt } = request
  const predicted = asString(asObject(prediction).content)
  return {
    prediction: predicted === '' ? undefined : { type: 'content' as const, content: predicted },
    prompt_cache_key: asString(prompt_cache_key) || undefined,
    service_tier: service_tier === 'auto' || service_tier === 'standard_only' ? service_tier : undefined,
    safe_prompt: typeof safe_prompt === 'boolean' ? safe_prompt : undefined,
  } satisfies Partial<ChatBody>
}
