import type { JsonObject } from '../../core/contract/index.ts'

/** `default`: what the API of each provider supports. `interface`: the table of the published interface. */
export const CAPABILITY_PRESETS = ['default', 'interface'] as const

const NO_CAPABILITIES = { json: 'none', logit_bias: false, seed: false }

/** docs/providers.md, "Capabilities" */
const INTERFACE_CAPABILITIES: Readonly<Record<string, object>> = {
  openai: { json: 'schema', logit_bias: true, seed: true },
  anthropic: NO_CAPABILITIES,
  gemini: NO_CAPABILITIES,
  mistral: NO_CAPABILITIES,
  deepseek: { ...NO_CAPABILITIES, json: 'object' },
}

/**
 * Returns the settings of a preset, which replace the shipped ones and are overridden by the operator's.
 * `default` and unknown values, which the schema reports, have none.
 */
export function buildPresetSettings(preset: unknown): JsonObject {
  if (preset !== 'interface') return {}
  const rows = Object.entries(INTERFACE_CAPABILITIES).map(([id, capabilities]) => [id, { capabilities }])
  return { providers: Object.fromEntries(rows) }
}
