import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model } from '../../core/contract/provider.ts'
import { findNearestEffort } from '../shared/efforts.ts'
import type { MistralBody } from './wire.ts'

type Reasoning = Pick<MistralBody, 'reasoning_effort' | 'prompt_mode'>

/**
 * Asks for reasoning in the way the model supports (docs/providers.md, "Mistral requests"): with the nearest
 * of its efforts, with the prompt mode, or not at all. Models without a row in the catalogue get the
 * requested effort.
 */
export function toMistralReasoning(request: ChatRequest, model: Model | undefined): Reasoning {
  const effort = request.reasoning_effort
  if (effort == null) return request.prompt_mode === 'reasoning' ? REASONING : {}
  if (model === undefined) return { reasoning_effort: effort }
  const { thinking, thinking_off, efforts = [] } = model.quirks
  if (effort === 'none' && thinking_off) return { reasoning_effort: effort }
  if (thinking === 'prompt_mode') return effort === 'none' ? {} : REASONING
  return { reasoning_effort: findNearestEffort(effort, efforts) }
}

const REASONING: Reasoning = { prompt_mode: 'reasoning' }
