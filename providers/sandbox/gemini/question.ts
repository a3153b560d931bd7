import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import type { Output, Question } from '../question.ts'
import { Refusal } from '../refusal.ts'
import { readContents, readLastResults, readTexts, type Turn } from './contents.ts'
import { readToolConfig, readTools } from './tools.ts'

/** Reads a request's body. Throws a `Refusal` (400) for one that the model would not take. */
export function readQuestion(model: string, body: JsonObject, signs: boolean): Question {
  const turns = readContents(body.contents, signs)
  const config = isJsonObject(body.generationConfig) ? body.generationConfig : {}
  const results = turns.flatMap(readLastResults)
  return {
    model,
    texts: [...readSystem(body.systemInstruction), ...turns.flatMap(readTexts), ...results],
    userText: findUserText(turns),
    toolResults: turns.slice(-1).flatMap(readLastResults),
    ...readToolConfig(body.toolConfig, readTools(body.tools)),
    mayCallInParallel: true,
    output: readOutput(config),
    wantsReasoning: readThinking(config.thinkingConfig),
    maxTokens: readMaxTokens(config.maxOutputTokens),
    stop: Array.isArray(config.stopSequences) ? config.stopSequences.filter(isText) : [],
  }
}

function readSystem(instruction: unknown): readonly string[] {
  const parts = isJsonObject(instruction) && Array.isArray(instruction.parts) ? instruction.parts : []
  return readTexts({ role: 'user', parts: parts.filter(isJsonObject) })
}

/** What the user said last, tool results aside. */
function findUserText(turns: readonly Turn[]): string {
  const texts = turns.filter(({ role }) => role === 'user').map(readTexts)
  return texts.findLast((said) => said.length > 0)?.join('\n') ?? ''
}

function readOutput({
  responseMimeType: type,
  responseJsonSchema: schema,
  responseSchema,
}: JsonObject): Output {
  const isJson = type === 'application/json'
  if (!isJson && (schema ?? responseSchema) !== undefined) {
    throw new Refusal(400, 'A response schema needs response_mime_type "application/json".')
  }
  if (isJsonObject(schema)) return { type: 'schema', schema }
  return { type: isJson ? 'json' : 'text' }
}

/** Whether thoughts are to be shown. */
function readThinking(config: unknown): boolean {
  if (!isJsonObject(config)) return false
  if (config.thinkingLevel !== undefined && config.thinkingBudget !== undefined) {
    throw new Refusal(400, 'You can only set one of thinking budget and thinking level.')
  }
  return config.includeThoughts === true
}

function readMaxTokens(value: unknown): number | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value
  throw new Refusal(400, "Invalid value at 'generation_config.max_output_tokens': must be positive.")
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
