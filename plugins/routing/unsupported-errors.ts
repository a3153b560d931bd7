import { GatewayError, type Model, type Target } from '../../core/contract/index.ts'
import type { Capabilities } from '../../providers/shared/catalog.ts'
import type { Requirements } from './requirements.ts'

/** The error for a parameter that a fixed model does not support. `param` is as the caller wrote it. */
export function unsupportedByModelError(
  missing: 'response_format' | 'tool_choice',
  param: string,
  type: unknown,
  target: Target,
  capabilities: Capabilities,
): GatewayError {
  const message =
    missing === 'tool_choice'
      ? `${target.model} cannot be forced to call a tool. Set ${param} to "auto", or use another model. ` +
        settingSentence(rowOf(target, 'quirks.forced_tools'), false)
      : `${target.model} does not support ${param} of the type "${type}". Omit it, or use another model. ` +
        jsonSettingSentence(target, type, capabilities)
  return new GatewayError('unsupported_parameter', message, { param })
}

function jsonSettingSentence(target: Target, type: unknown, { json }: Capabilities): string {
  const isAllowed = json === 'schema' || (json === 'object' && type === 'json_object')
  return isAllowed
    ? settingSentence(rowOf(target, 'capabilities.json'), target.entry?.capabilities.json)
    : settingSentence(`providers.${target.provider}.capabilities.json`, json)
}

function rowOf({ provider, model }: Target, field: string): string {
  return `${field} of the row ${provider}/${model} under models`
}

function settingSentence(setting: string, value: unknown): string {
  return `The operator's setting is ${setting}, which is ${value}.`
}

/** The error for a request that none of the models supports. `missing` returns what a model lacks. */
export function unsupportedByAllError(
  models: readonly Model[],
  missing: (model: Model) => string | undefined,
  { inputTokens, outputTokens }: Requirements,
  parameterNames: Readonly<Record<string, string>> = {},
): GatewayError {
  const names = [...new Set(models.map(missing))].map((name = '') => parameterNames[name] ?? name)
  const [only] = names
  const message = `No available model supports: ${names.map((name) => PHRASES[name] ?? name).join(', ')}.`
  const tooShort = models.filter((model) => missing(model) === 'context').map(({ context }) => context)
  // A shorter request would be served: these models lack nothing else.
  if (tooShort.length > 0) {
    const contextLengths = { input: inputTokens + outputTokens, limit: Math.max(...tooShort) }
    return new GatewayError('context_length_exceeded', message, { param: 'messages', contextLengths })
  }
  const isParam = names.length === 1 && only !== undefined && only !== 'images'
  return new GatewayError('unsupported_parameter', message, isParam ? { param: only } : {})
}

const PHRASES: Readonly<Record<string, string>> = {
  context: 'a context of this length',
  messages: 'the content of messages',
  input: 'the content of input',
}
