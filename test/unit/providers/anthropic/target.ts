import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { ChatRequest } from '../../../../core/contract/chat.ts'
import type { Model, Target } from '../../../../core/contract/provider.ts'
import { anthropic } from '../../../../providers/anthropic/adapter.ts'
import type { MessagesBody } from '../../../../providers/anthropic/wire.ts'

const rows: Model[] = parse(readFileSync('config/models.yaml', 'utf8'))

/** A model as the shipped catalogue has it; one that is not in it has no entry. */
export function targetOf(model: string): Target {
  const row = rows.find(({ id, provider }) => id === model && provider === 'anthropic')
  const defaults = { aliases: [], reasoning: false, sampling: true, quirks: {} }
  return { provider: 'anthropic', model, ...(row && { entry: { ...defaults, ...row } }) }
}

export type Fields = Partial<ChatRequest>

export const user = { role: 'user', content: 'Which track?' } as const

/** A call with these fields, to a user's question where they bring no messages. */
export function write(fields: Fields, model = 'claude-sonnet-4-6') {
  return anthropic.buildRequest({ messages: [user], ...fields }, targetOf(model), 'sk-ant-key')
}

/** The body of such a call, as the provider parses it. */
export function bodyOf(fields: Fields, model?: string): MessagesBody {
  return JSON.parse(write(fields, model).body)
}
