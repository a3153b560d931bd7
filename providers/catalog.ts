import type { Model } from '../core/contract/index.ts'

/** The models that the gateway knows. */
export interface Catalog {
  readonly models: readonly Model[]
  /** By id or alias, of one provider where the name is given. */
  find(name: string, provider?: string): Model | undefined
}

/** Of several providers that offer a model, one that is configured is found first. */
export function createCatalog(
  models: readonly Model[],
  isConfigured: (provider: string) => boolean = () => true,
): Catalog {
  const byName = new Map<string, Model[]>()
  const isAway = ({ provider }: Model) => Number(!isConfigured(provider))
  for (const model of models.toSorted((a, b) => isAway(a) - isAway(b))) {
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
