import type { ChatRequest, Message } from '../../../../core/contract/chat.ts'
import type { GatewayError } from '../../../../core/contract/errors.ts'
import type { Model, Target } from '../../../../core/contract/provider.ts'
import { gemini } from '../../../../providers/gemini/adapter.ts'
import type { GeminiBody } from '../../../../providers/gemini/wire.ts'

export const request = { messages: [{ role: 'user', content: 'Which track?' }] } satisfies ChatRequest

export const argon = target('gemini-4-argon')

/** A model before Gemini 3. */
export const old = target('gemini-2.5-flash')

export function target(model: string, fields: Partial<Model> = {}): Target {
  const entry: Model = {
    id: model,
    provider: 'gemini',
    aliases: [],
    context: 1_048_576,
    max_output: 65_536,
    price: { input: 1, output: 2 },
    quality: 50,
    latency_ms: 500,
    capabilities: { tools: true, images: true, json: 'none' },
    reasoning: false,
    sampling: true,
    quirks: {},
    ...fields,
  }
  return { provider: 'gemini', model, entry }
}

export function callOf(fields: Partial<ChatRequest>, to: Target = argon) {
  return gemini.buildRequest({ ...request, ...fields }, to)
}

export function bodyOf(fields: Partial<ChatRequest>, to: Target = argon): GeminiBody {
  return JSON.parse(String(callOf(fields, to).body))
}

export function contentsOf(messages: readonly Message[], to: Target = argon) {
  return bodyOf({ messages }, to).contents
}

export function errorOf(run: () => unknown): GatewayError {
  try {
    run()
  } catch (error) {
    return error as GatewayError
  }
  throw new Error('It should have failed.')
}
