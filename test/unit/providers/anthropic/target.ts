import { readFileSync } from 'node:fs'
import type { ChatRequest } from '../../../../core/contract/chat.ts'
import type { Model, Target } from '../../../../core/contract/provider.ts'
import { anthropic } from '../../../../providers/anthropic/adapter.ts'
import type { AnthropicBody } from '../../../../providers/anthropic/wire.ts'
import { parseYaml } from '../../../support/yaml.ts'

const rows: Model[] = parseYaml(readFileSync('config/models.yaml', 'utf8'))

/** A model of the shipped catalogue; without `entry` if it has no row there. */
export function targetOf(model: string): Target {
  const row = rows.find(({ id, provider }) => id === model && provider === 'anthropic')
  const defaults = { aliases: [], reasoning: false, sampling: true, quirks: {} }
  return { provider: 'anthropic', model, ...(row && { entry: { ...defaults, ...row } }) }
}

export type Fields = Partial<ChatRequest>

export const user = { role: 'user', content: 'Which track?' } as const

/** Builds a request with these fields; the default message is a user's question. */
export function write(fields: Fields, model = 'claude-sonnet-4-6') {
  return anthropic.buildRequest({ messages: [user], ...fields }, targetOf(model))
}

/** The body of such a request, parsed. */
export function bodyOf(fields: Fields, model?: string): AnthropicBody {
  return JSON.parse(String(write(fields, model).body))
}
