import type { Model } from '../../core/contract/index.ts'

/** A catalogue row with what a test says and middling figures for the rest. */
export function model(id: string, provider: string, said: Partial<Model> = {}): Model {
  return {
    id,
    provider,
    aliases: [],
    context: 128_000,
    max_output: 16_000,
    price: { input: 1, output: 4 },
    quality: 50,
    latency_ms: 1000,
    capabilities: { tools: true, images: true, json: 'schema' },
    reasoning: false,
    sampling: true,
    quirks: {},
    ...said,
  }
}
