import type { ProviderAdapter } from '../core/contract/index.ts'
import { anthropic } from './anthropic/adapter.ts'
import { deepseek } from './deepseek/adapter.ts'
import { gemini } from './gemini/adapter.ts'
import { mistral } from './mistral/adapter.ts'
import { openai } from './openai/adapter.ts'

/** The adapters by the name that a provider's `format` setting uses. */
export const ADAPTERS = { openai, anthropic, gemini, mistral, deepseek } as const satisfies Record<
  string,
  ProviderAdapter
>

export type AdapterName = keyof typeof ADAPTERS
