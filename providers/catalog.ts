import type { Model } from '../core/contract/index.ts'

/** The models that the gateway knows. */
export interface Catalog {
  readonly models: readonly Model[]
  /** By id or alias, of one provider where the name is given. */
  find(name: string, provider?: string): Model | undefined
}

export function createCatalog(models: readonly Model[]): Catalog {
  const byName = new Map<string, Model[]>()
  for (const model of models) {
    for (const name of [model.id, ...model.aliases]) byName.set(name, [...(byName.get(name) ?? []), model])
  }
  return {
    models,
    find(name, provider) {
      const found = byName.get(name)
      return provider === undefined ? found?.[0] : found?.find((model) => model.provider === provider)
    },
  }
}
