import type { FinishReason, ReplyEvent, ReplyPart, Usage } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import { asNumber, asObject, asObjects, asString } from '../shared/fields.ts'
import { readFailureRecord } from './errors.ts'
import type { ToolOffer } from './wire.ts'

/** Reads a message (docs/providers.md, "Anthropic replies"). Throws a `GatewayError` when the body is anything else. */
export function readReply(body: unknown): ReplyEvent {
  const message = asObject(body)
  if (message.type === 'error') throw readFailureRecord(message)
  if (!Array.isArray(message.content)) {
    throw new GatewayError('provider_error', 'The provider sent a reply that is no message.')
  }
  return {
    parts: [
      { type: 'start', id: asString(message.id), model: asString(message.model) },
      ...readBlocks(asObjects(message.content)),
      ...readExplanation(message),
      { type: 'usage', usage: readUsage(asObject(message.usage)) },
      { type: 'finish', reason: readStopReason(message.stop_reason) },
    ],
  }
}

/** Why the model refused, from a message or a `message_delta`, where it says so. */
export function readExplanation({ stop_details }: JsonObject): readonly ReplyPart[] {
  return say('refusal', asObject(stop_details).explanation)
}

function readBlocks(blocks: readonly JsonObject[]): readonly ReplyPart[] {
  let calls = 0
  return blocks.flatMap((block) => (block.type === 'tool_use' ? readCall(block, calls++) : readBlock(block)))
}

function readCall({ id, name, input }: JsonObject, index: number): readonly ReplyPart[] {
  return [
    { type: 'tool-start', index, id: asString(id), name: asString(name) },
    { type: 'tool-json', index, json: JSON.stringify(input ?? {}) },
  ]
}

/** What a block of text or thoughts says; nothing for blocks of other types, which only the provider's own tools make. */
export function readBlock({ type, text, thinking }: JsonObject): readonly ReplyPart[] {
  if (type === 'text') return say('text', text)
  return type === 'thinking' ? say('reasoning', thinking) : []
}

/** One part, or none where there is no text. */
export function say(type: 'text' | 'reasoning' | 'refusal', text: unknown): readonly ReplyPart[] {
  return typeof text === 'string' && text !== '' ? [{ type, text }] : []
}

interface Choice {
  readonly mode: 'none' | 'auto' | 'required'
  /** The tools that may be called. */
  readonly allowed: readonly ToolOffer[]
  /** The only one that may be called, when the request names it. */
  readonly named?: string
}

/** Reads `tool_choice` in all its forms. Throws a `GatewayError` for one that does not exist or names no tool. */
export function readChoice(choice: unknown, tools: readonly ToolOffer[]): Choice {
  if (choice == null) return { mode: 'auto', allowed: tools }
  if (choice === 'none' || choice === 'auto' || choice === 'required') return { mode: choice, allowed: tools }
  const { type, function: named, allowed_tools } = asObject(choice)
  if (type === 'function') return readNamed(readName(named), tools)
  if (type === 'allowed_tools') return readAllowed(allowed_tools, tools)
  throw refuse('tool_choice must be none, auto, required, a function or allowed_tools.')
}

function readNamed(name: string, tools: readonly ToolOffer[]): Choice {
  return { mode: 'required', allowed: keep([name], tools), named: name }
}

function readAllowed(value: unknown, tools: readonly ToolOffer[]): Choice {
  const { mode, tools: list } = asObject(value)
  const names = asObjects(list).map((tool) => readName(tool.function))
  return { mode: mode === 'required' ? 'required' : 'auto', allowed: keep(names, tools) }
}

function readName(value: unknown): string {
  return asString(asObject(value).name)
}

function keep(names: readonly string[], tools: readonly ToolOffer[]): readonly ToolOffer[] {
  const kept = tools.filter(({ name }) => names.includes(name))
  if (kept.length === 0) throw refuse('tool_choice names a function that tools does not offer.')
  return kept
}

function refuse(message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param: 'tool_choice' })
}

/** Reads a `usage` object, of which any field may be null: cached input is counted beside the rest there (docs/providers.md, "Anthropic replies"). */
export function readUsage(usage: JsonObject): Usage {
  const cached = asNumber(usage.cache_read_input_tokens)
  const cacheWrite = asNumber(usage.cache_creation_input_tokens)
  const reasoning = asNumber(asObject(usage.output_tokens_details).thinking_tokens)
  return {
    input: (asNumber(usage.input_tokens) ?? 0) + (cached ?? 0) + (cacheWrite ?? 0),
    output: asNumber(usage.output_tokens) ?? 0,
    ...(cached !== undefined && { cached }),
    ...(cacheWrite !== undefined && { cacheWrite }),
    ...(reasoning !== undefined && { reasoning }),
  }
}

/** Reads a `stop_reason` (docs/providers.md, "Anthropic replies"). One that we do not know counts as `stop`. */
export function readStopReason(value: unknown): FinishReason {
  switch (value) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length'
    case 'tool_use':
      return 'tool_calls'
    case 'refusal':
      return 'content_filter'
    default:
      return 'stop'
  }
}
