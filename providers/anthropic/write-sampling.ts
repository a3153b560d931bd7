import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Model } from '../../core/contract/model.ts'
import type { MessagesBody, Thinking } from './wire.ts'

/**
 * Nothing for models that refuse sampling, which all new ones do, and none with thoughts; else the temperature in 0 to 1,
 * or `top_p`, never both (reference 5.3).
 */
export function writeSampling(
  { temperature, top_p }: ChatRequest,
  entry: Model | undefined,
  thinking: Thinking | undefined,
): Pick<MessagesBody, 'temperature' | 'top_p'> {
  const thinks = thinking?.type === 'enabled' || thinking?.type === 'adaptive'
  if (!entry?.sampling || thinks) return {}
  if (temperature != null) return { temperature: Math.min(Math.max(temperature, 0), 1) }
  return top_p == null ? {} : { top_p }
}
