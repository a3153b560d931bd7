import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Target } from '../../core/contract/provider.ts'
import { readObject } from '../read-fields.ts'
import type { ChatBody, Effort } from './wire.ts'

type Thinking = Pick<ChatBody, 'thinking' | 'reasoning_effort'>

/**
 * Whether and how hard the model thinks (reference 8.1): as DeepSeek's own `thinking` or `reasoning_effort` says, else as
 * the retired name says that was asked for, else nothing is sent, and the model thinks.
 */
export function writeThinking(request: ChatRequest, target: Target): Thinking {
  const { type } = readObject(request.thinking)
  const effort = request.reasoning_effort
  if (type === 'disabled' || effort === 'none') return OFF
  if (effort != null) return { ...ON, reasoning_effort: EFFORTS[effort] ?? 'high' }
  if (type === 'enabled') return ON
  return RETIRED.get(target.alias ?? target.model) ?? {}
}

/** The name to send: the retired ones live on in their successor. */
export function currentName(model: string): string {
  return RETIRED.has(model) ? SUCCESSOR : model
}

const ON: Thinking = { thinking: { type: 'enabled' } }
const OFF: Thinking = { thinking: { type: 'disabled' } }

/** Retired on 2026-07-24: one model's two modes. In the catalogue they are aliases of it. */
const SUCCESSOR = 'deepseek-flash'
const RETIRED = new Map([
  ['deepseek-chat', OFF],
  ['deepseek-reasoner', ON],
])

const EFFORTS: Readonly<Record<string, Effort>> = {
  minimal: 'low',
  low: 'low',
  medium: 'high',
  high: 'high',
  xhigh: 'high',
  max: 'max',
}
