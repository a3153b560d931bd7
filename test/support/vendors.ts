import type { Sandbox } from '../../providers/sandbox/server.ts'

/** Where a sandbox speaks each vendor's format. */
export const VENDOR_PATHS = {
  openai: '/openai/v1',
  anthropic: '/anthropic',
  gemini: '/gemini',
  mistral: '/mistral',
  deepseek: '/deepseek',
}

export const VENDORS = Object.keys(VENDOR_PATHS)

/** Environment of a gateway whose vendors, all five unless others are named, are one sandbox. */
export function vendorsAt(
  { url }: Pick<Sandbox, 'url'>,
  vendors: readonly string[] = VENDORS,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(VENDOR_PATHS)
      .filter(([id]) => vendors.includes(id))
      .flatMap(([id, path]) => [
        [`${id.toUpperCase()}_API_KEY`, 'vendor-key'],
        [`${id.toUpperCase()}_BASE_URL`, url + path],
      ]),
  )
}

/** A model of each vendor that thinks and calls tools. */
export const MODELS: Readonly<Record<string, string>> = {
  openai: 'gpt-5-mini',
  anthropic: 'claude-sonnet-4-6',
  gemini: 'gemini-3.5-flash',
  mistral: 'mistral-large-4',
  deepseek: 'deepseek-flash',
}
