import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Target } from '../../core/contract/provider.ts'
import { asObject } from '../shared/fields.ts'
import type { DeepSeekBody, DeepSeekEffort } from './wire.ts'

type Thinking = Pick<DeepSeekBody, 'thinking' | 'reasoning_effort'>

const ENABLED: Thinking = { thinking: { type: 'enabled' } }
const DISABLED: Thinking = { thinking: { type: 'disabled' } }

/**
 * Whether the model thinks, and with which effort (docs/providers.md, "DeepSeek models and modes").
 * DeepSeek's own `thinking` and `reasoning_effort` decide, then the retired model name, if one was requested.
 * Without any of them nothing is sent, and the model thinks.
 */
export function toDeepSeekReasoning(request: ChatRequest, target: Target): Thinking {
  const { type } = asObject(request.thinking)
  const effort = request.reasoning_effort
  if (type === 'disabled' || effort === 'none') return DISABLED
  if (effort != null) return { ...ENABLED, reasoning_effort: EFFORTS.get(effort) ?? 'high' }
  if (type === 'enabled') return ENABLED
  return RETIRED_MODELS.get(target.alias ?? target.model) ?? {}
}

const EFFORTS: ReadonlyMap<string, DeepSeekEffort> = new Map([
  ['minimal', 'low'],
  ['low', 'low'],
  ['medium', 'high'],
  ['high', 'high'],
  ['xhigh', 'high'],
  ['max', 'max'],
])

/** Replaces a retired model name by its successor. */
export function toCurrentModel(model: string): string {
  return RETIRED_MODELS.has(model) ? SUCCESSOR : model
}

/** Retired on 2026-07-24: the two modes of one model. In the catalogue they are aliases of its successor. */
const RETIRED_MODELS = new Map([
  ['deepseek-chat', DISABLED],
  ['deepseek-reasoner', ENABLED],
])
const SUCCESSOR = 'deepseek-flash'
