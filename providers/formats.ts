import type { ProviderAdapter } from '../core/contract/index.ts'
import { anthropic } from './anthropic/provider.ts'
import { deepseek } from './deepseek/provider.ts'
import { gemini } from './gemini/provider.ts'
import { mistral } from './mistral/provider.ts'
import { openai } from './openai/provider.ts'

/** The wire formats that can be spoken, by the name that settings use. */
export const ADAPTERS = { openai, anthropic, gemini, mistral, deepseek } as const satisfies Record<
  string,
  ProviderAdapter
>

export type AdapterName = keyof typeof ADAPTERS
