import type { Sandbox } from '../../providers/sandbox/server.ts'

/** Where a sandbox speaks each provider's format. */
export const PROVIDER_PATHS = {
  openai: '/openai/v1',
  anthropic: '/anthropic',
  gemini: '/gemini',
  mistral: '/mistral',
  deepseek: '/deepseek',
}

export const PROVIDERS = Object.keys(PROVIDER_PATHS)

/** Environment of a gateway whose providers, all five unless others are named, are one sandbox. */
export function providersAt(
  { url }: Pick<Sandbox, 'url'>,
  providers: readonly string[] = PROVIDERS,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(PROVIDER_PATHS)
      .filter(([id]) => providers.includes(id))
      .flatMap(([id, path]) => [
        [`${id.toUpperCase()}_API_KEY`, 'provider-key'],
        [`${id.toUpperCase()}_BASE_URL`, url + path],
      ]),
  )
}

/** A model of each provider that thinks and calls tools. */
export const MODELS: Readonly<Record<string, string>> = {
  openai: 'gpt-5.4-mini',
  anthropic: 'claude-sonnet-4-6',
  gemini: 'gemini-3.5-flash',
  mistral: 'mistral-large-4',
  deepseek: 'deepseek-flash',
}
