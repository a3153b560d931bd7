import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Target } from '../../core/contract/provider.ts'
import { parseObject } from '../read-fields.ts'
import { readCacheControl } from './cache-control.ts'
import type { MessagesBody } from './wire.ts'
import { writeFormat } from './write-format.ts'
import { writePrompt } from './write-prompt.ts'
import { writeSampling } from './write-sampling.ts'
import { writeThinking } from './write-thinking.ts'
import { writeTools } from './write-tools.ts'

/**
 * The body, field by field: Anthropic refuses fields that it does not know (reference 5.2). Throws a `GatewayError` for
 * content that it cannot take.
 */
export function writeBody(request: ChatRequest, { model, entry }: Target): MessagesBody {
  const { tools, tool_choice } = writeTools(request, entry)
  const isForced = tool_choice?.type === 'any' || tool_choice?.type === 'tool'
  const { max_tokens, thinking, effort } = writeThinking(request, entry, isForced)
  const format = writeFormat(request.response_format)
  return {
    model,
    max_tokens,
    ...writePrompt(request),
    tools,
    tool_choice,
    thinking,
    output_config: effort || format ? { effort, format } : undefined,
    ...writeSampling(request, entry, thinking),
    stop_sequences: writeStop(request.stop),
    metadata: writeMetadata(request.user),
    service_tier: readServiceTier(request.service_tier),
    cache_control: readCacheControl(request.cache_control),
    stream: request.stream ? true : undefined,
  }
}

/** Blank sequences are refused. */
function writeStop(stop: ChatRequest['stop']): MessagesBody['stop_sequences'] {
  const sequences = typeof stop === 'string' ? [stop] : (stop ?? [])
  const kept = sequences.filter((sequence) => sequence.trim() !== '')
  return kept.length > 0 ? kept : undefined
}

const LONGEST_USER = 256

/** Only an opaque id: clients that pack JSON into `user` put more into it than Anthropic takes, or should know. */
function writeMetadata(user: string | undefined): MessagesBody['metadata'] {
  if (!user || user.length > LONGEST_USER || parseObject(user)) return undefined
  return { user_id: user }
}

function readServiceTier(tier: unknown): MessagesBody['service_tier'] {
  return tier === 'auto' || tier === 'standard_only' ? tier : undefined
}
