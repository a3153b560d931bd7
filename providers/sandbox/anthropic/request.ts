import type { JsonObject } from '../../../core/contract/index.ts'
import { asObject, asObjects, asString } from '../../shared/fields.ts'
import { Refusal } from '../format.ts'
import type { Output, Question } from '../model-request.ts'
import type { Message } from './checks.ts'
import { checkTurns, readToolChoice, readTools } from './checks.ts'

/** Reads a message request. Throws a `Refusal` (400) that names the field at fault. */
export function readQuestion(body: JsonObject): Question {
  const { model, thinking, output_config, tool_choice } = body
  if (typeof model !== 'string' || model === '') throw new Refusal(400, 'model: Field required')
  const messages = readMessages(body.messages)
  checkTurns(messages)
  const tools = readTools(body.tools)
  return {
    model,
    texts: [...readTexts(body.system), ...messages.flatMap(({ texts, results }) => [...results, ...texts])],
    userText: messages.findLast(isUserText)?.texts.join('\n') ?? '',
    toolResults: findToolResults(messages),
    ...readToolChoice(tool_choice, tools),
    mayCallInParallel: asObject(tool_choice).disable_parallel_tool_use !== true,
    output: readOutput(asObject(output_config).format, readTexts(body.system)),
    wantsReasoning: ['adaptive', 'enabled'].includes(String(asObject(thinking).type)),
    maxTokens: readMaxTokens(body.max_tokens),
    stop: readStop(body.stop_sequences),
  }
}

/** False for tool results with no word beside them. */
function isUserText({ role, texts, results }: Message): boolean {
  return role === 'user' && (texts.length > 0 || results.length === 0)
}

/** The results that the conversation ends with, when the user says nothing beside them. */
function findToolResults(messages: readonly Message[]): readonly string[] {
  const last = messages.at(-1)
  return last?.texts.length === 0 ? last.results : []
}

/** There is no mode for JSON without a schema, but a model that is told to answer in it does. */
function readOutput(format: unknown, system: readonly string[]): Output {
  const { type, schema } = asObject(format)
  if (type === 'json_schema') return { type: 'schema', schema: asObject(schema) }
  return system.some((text) => /\bJSON object\b/.test(text)) ? { type: 'json' } : { type: 'text' }
}

function readMaxTokens(value: unknown): number {
  if (value === undefined) throw new Refusal(400, 'max_tokens: Field required')
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1) return value
  throw new Refusal(400, 'max_tokens: Input should be a whole number of at least 1')
}

function readStop(stop: unknown): readonly string[] {
  const sequences = (Array.isArray(stop) ? stop : []).map(String)
  if (sequences.every((sequence) => sequence.trim() !== '')) return sequences
  throw new Refusal(400, 'stop_sequences: each stop sequence must contain non-whitespace')
}

/** Reads `messages`. Throws a `Refusal` (400) for what Anthropic would not take. */
function readMessages(list: unknown): readonly Message[] {
  if (!Array.isArray(list)) throw new Refusal(400, 'messages: Field required')
  if (list.length === 0) throw new Refusal(400, 'messages: at least one message is required')
  return list.map((message, index) => readMessage(asObject(message), `messages.${index}`))
}

/** The texts of a string or of text blocks. Throws a `Refusal` (400) for an empty block. */
function readTexts(content: unknown, path = 'system'): readonly string[] {
  if (typeof content === 'string') return content === '' ? [] : [content]
  const texts = asObjects(content).flatMap(({ type, text }) => (type === 'text' ? [asString(text)] : []))
  if (texts.every((text) => text.trim() !== '')) return texts
  throw new Refusal(400, `${path}: text content blocks must be non-empty`)
}

function readMessage({ role, content }: JsonObject, path: string): Message {
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw new Refusal(400, `${path}.role: Input should be 'user' or 'assistant'`)
  }
  const blocks = asObjects(content)
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const texts = readTexts(content, path)
  if (texts.length + blocks.length === 0) {
    throw new Refusal(400, `${path}: user messages must have non-empty content`)
  }
  return {
    role,
    texts,
    results: results.map((result) => readTexts(result.content, path).join('\n')),
    calls: blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => asString(id)),
    answers: results.map((result) => asString(result.tool_use_id)),
    hasLateResult: blocks.slice(0, results.length).some(({ type }) => type !== 'tool_result'),
  }
}
