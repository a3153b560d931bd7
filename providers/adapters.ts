import type { ProviderAdapter } from '../core/contract/index.ts'
import { anthropic } from './anthropic/adapter.ts'
import { bedrock } from './bedrock/adapter.ts'
import { deepseek } from './deepseek/adapter.ts'
import { gemini } from './gemini/adapter.ts'
import { mistral } from './mistral/adapter.ts'
import { openai } from './openai/adapter.ts'
import { vertex } from './vertex/adapter.ts'

export { createChatAdapter } from './chat-format/adapter.ts'

/** The wire formats that need no plugin. */
export const ADAPTERS: readonly ProviderAdapter[] = [
  openai,
  anthropic,
  gemini,
  mistral,
  deepseek,
  vertex,
  bedrock,
]
