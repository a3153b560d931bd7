import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model } from '../../core/contract/model.ts'
import type { ChatBody } from './wire.ts'

type Reasoning = Pick<ChatBody, 'reasoning_effort' | 'prompt_mode'>

/**
 * How a model is asked to think (reference 7.1), by its quirks: with the nearest of its efforts, with the prompt mode,
 * or not at all. What is not in the catalogue gets what the request says.
 */
export function writeReasoning(request: ChatRequest, model: Model | undefined): Reasoning {
  const effort = request.reasoning_effort
  if (effort == null) return request.prompt_mode === 'reasoning' ? REASONING : {}
  if (model === undefined) return { reasoning_effort: effort }
  const { thinking, thinking_off, efforts = [] } = model.quirks
  if (effort === 'none' && thinking_off) return { reasoning_effort: effort }
  if (thinking === 'prompt_mode') return effort === 'none' ? {} : REASONING
  return { reasoning_effort: findNearest(effort, efforts) }
}

const REASONING: Reasoning = { prompt_mode: 'reasoning' }

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']

/** The least effort that is enough, else the most there is; undefined without any. */
function findNearest(wanted: string, efforts: readonly string[]): string | undefined {
  const rank = EFFORTS.indexOf(wanted)
  return efforts.find((effort) => EFFORTS.indexOf(effort) >= rank) ?? efforts.at(-1)
}
