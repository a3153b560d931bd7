import type { ChatRequest } from '../../core/contract/chat.ts'
import type { ProviderRequest, Target } from '../../core/contract/provider.ts'
import { findOmitted, type Renamed } from '../chat-format/request.ts'
import { writeContents } from './messages.ts'
import { writeOutput } from './response-format.ts'
import { writeTools } from './tools.ts'
import type { Family, GenerateBody, GenerationConfig, ThinkingConfig, ThinkingLevel } from './wire.ts'

/** A body made of what Gemini takes only: it refuses fields that it does not know. */
export function writeCall(request: ChatRequest, target: Target, apiKey: string): ProviderRequest {
  const family = readFamily(target.model)
  const body: GenerateBody = {
    ...writeContents(request.messages, family),
    ...writeTools(request, family),
    generationConfig: writeGenerationConfig(request, target, family),
  }
  return {
    path: writePath(target.model, request.stream === true),
    headers: {
      'content-type': 'application/json',
      accept: request.stream ? 'text/event-stream' : 'application/json',
      'x-goog-api-key': apiKey,
    },
    body: JSON.stringify(body),
    omitted: findOmitted(request, { ...body, ...body.generationConfig }, RENAMED),
  }
}

const RENAMED: Renamed = {
  max_tokens: ['maxOutputTokens'],
  max_completion_tokens: ['maxOutputTokens'],
  stop: ['stopSequences'],
  top_p: ['topP'],
  presence_penalty: ['presencePenalty'],
  frequency_penalty: ['frequencyPenalty'],
  tool_choice: ['toolConfig'],
  response_format: ['responseMimeType'],
  reasoning_effort: ['thinkingConfig'],
}

/** Without `alt=sse` a stream comes as one JSON array. */
function writePath(model: string, streams: boolean): string {
  const method = streams ? 'streamGenerateContent?alt=sse' : 'generateContent'
  return `/v1beta/models/${encodeURIComponent(model)}:${method}`
}

/** How the answer is made: https://ai.google.dev/api/generate-content#v1beta.GenerationConfig */
function writeGenerationConfig(request: ChatRequest, target: Target, family: Family): GenerationConfig {
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

/** The efforts that clients ask for, least first. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

type Effort = (typeof EFFORTS)[number]

function isEffort(value: unknown): value is Effort {
  return (EFFORTS as readonly unknown[]).includes(value)
}

/** How much the model thinks, and that it shows its thoughts when it was asked to think: https://ai.google.dev/gemini-api/docs/thinking */
function writeThinking(effort: unknown, target: Target, family: Family): ThinkingConfig | undefined {
  if (!isEffort(effort) || family === 'gemma') return undefined
  const amount =
    family === 'gemini-2'
      ? { thinkingBudget: chooseBudget(effort, target.model) }
      : { thinkingLevel: chooseLevel(effort, target.entry?.quirks.efforts ?? DEFAULT_EFFORTS) }
  return effort === 'none' ? amount : { ...amount, includeThoughts: true }
}

/** What every model from Gemini 3 on takes; some also take `minimal`. */
const DEFAULT_EFFORTS = ['low', 'medium', 'high']

const LEVELS = new Map<string, ThinkingLevel>([
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
])

/** The most that the model can do without going over what was asked, or else the least it can do: none cannot think at all. */
function chooseLevel(effort: Effort, efforts: readonly string[]): ThinkingLevel {
  const offered = EFFORTS.filter((each) => efforts.includes(each) && LEVELS.has(each))
  const chosen = offered.findLast((each) => EFFORTS.indexOf(each) <= EFFORTS.indexOf(effort)) ?? offered[0]
  return LEVELS.get(chosen ?? 'low') ?? 'LOW'
}

/** In tokens. The values of Google's own OpenAI-compatible endpoint; 2.5 Pro cannot stop thinking. */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
}

function chooseBudget(effort: Effort, model: string): number {
  return effort === 'none' && model.includes('pro') ? 128 : BUDGETS[effort]
}

/** A model's name tells its family; a name without a number, such as `gemini-flash-latest`, is a current one. */
function readFamily(model: string): Family {
  if (model.startsWith('gemma')) return 'gemma'
  return /^gemini-[12]\b/.test(model) ? 'gemini-2' : 'gemini'
}
