import type { ChatRequest } from '../../core/contract/chat.ts'
import type { Target } from '../../core/contract/provider.ts'
import type { Family } from './family.ts'
import type { GenerationConfig } from './wire.ts'
import { writeOutput } from './write-output.ts'
import { writeThinking } from './write-thinking.ts'

/** How the answer is made: https://ai.google.dev/api/generate-content#v1beta.GenerationConfig */
export function writeGenerationConfig(
  request: ChatRequest,
  target: Target,
  family: Family,
): GenerationConfig {
  return {
    ...(target.entry?.sampling !== false && writeSampling(request, family)),
    maxOutputTokens: writeLimit(request, target),
    stopSequences: writeStop(request.stop),
    seed: request.seed ?? undefined,
    ...writeOutput(request, family),
    thinkingConfig: writeThinking(request.reasoning_effort, target, family),
  }
}

/** More than the model can write is refused. */
function writeLimit(request: ChatRequest, { entry }: Target): number | undefined {
  const limit = request.max_completion_tokens ?? request.max_tokens ?? undefined
  return limit === undefined ? undefined : Math.min(limit, entry?.max_output ?? limit)
}

/** Gemini 2.5 refuses penalties. */
function writeSampling(request: ChatRequest, family: Family): GenerationConfig {
  const hasPenalties = family !== 'gemini-2'
  return {
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    presencePenalty: (hasPenalties && request.presence_penalty) || undefined,
    frequencyPenalty: (hasPenalties && request.frequency_penalty) || undefined,
  }
}

function writeStop(stop: ChatRequest['stop']): readonly string[] | undefined {
  return typeof stop === 'string' ? [stop] : (stop ?? undefined)
}
