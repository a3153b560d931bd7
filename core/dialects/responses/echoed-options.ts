import { isJsonObject, type JsonObject } from '../../contract/index.ts'
import type { ResponsesBody } from './request-schema.ts'
import type { FlatTool } from './tool-schemas.ts'

/** The values that OpenAI's description has for options of a request; strict clients read no others. */
export const ECHOED_VALUES = {
  tool_choice: ['auto', 'none', 'required'],
  effort: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  summary: ['auto', 'concise', 'detailed'],
  verbosity: ['low', 'medium', 'high'],
  service_tier: ['auto', 'default', 'flex', 'scale', 'priority'],
} as const

/**
 * Builds the fields of a response that repeat options of its request. Values that OpenAI's API does not have
 * are passed to the provider, but not repeated.
 */
export function echoOptions({ reasoning, text, tool_choice, service_tier }: ResponsesBody): JsonObject {
  const verbosity = known('verbosity', text?.verbosity)
  return {
    tool_choice: isJsonObject(tool_choice)
      ? echoToolChoice(tool_choice)
      : (known('tool_choice', tool_choice) ?? 'auto'),
    reasoning: { effort: known('effort', reasoning?.effort), summary: known('summary', reasoning?.summary) },
    text: { format: echoFormat(text?.format), ...(verbosity !== null && { verbosity }) },
    // Open Responses requires a text.
    service_tier: known('service_tier', service_tier) ?? 'default',
  }
}

function known(option: keyof typeof ECHOED_VALUES, value: unknown): string | null {
  const values: readonly string[] = ECHOED_VALUES[option]
  return values.find((candidate) => candidate === value) ?? null
}

function echoToolChoice(choice: JsonObject): unknown {
  if (choice.type === 'function') return choice
  if (choice.type !== 'allowed_tools') return 'auto'
  return { ...choice, mode: choice.mode === 'required' ? 'required' : 'auto', tools: choice.tools ?? [] }
}

function echoFormat(format: JsonObject | null | undefined): JsonObject {
  const { description, ...fields } = format ?? { type: 'text' }
  return { ...fields, ...(description != null && { description }) }
}

/** Adds the fields that OpenAI's clients require of a tool. */
export function toEchoedTool(tool: FlatTool): JsonObject {
  if (tool.type === 'namespace') return { ...tool, description: tool.description ?? '' }
  return tool.type === 'function' ? { parameters: null, strict: null, ...tool } : tool
}
