import type { ChatRequest, Model } from '../../core/contract/index.ts'

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

/** What is asked of a provider's models at most (docs/api.md, "Capabilities"); configuration, for providers learn. */
export interface Capabilities {
  /** JSON mode: `none`, `object` (json_object), or `schema` (json_schema too). */
  readonly json: 'none' | 'object' | 'schema'
  readonly logit_bias: boolean
  readonly seed: boolean
}

/** Fields that are left out, with a warning, where a provider does not take them. */
const OPTIONAL = ['logit_bias', 'seed'] as const

/** The request as the provider may get it, and what was left out for that. */
export function limitRequest(
  request: ChatRequest,
  capabilities: Capabilities,
): { request: ChatRequest; omitted: readonly string[] } {
  const omitted = OPTIONAL.filter(
    (name) => !capabilities[name] && request[name] !== undefined && request[name] !== null,
  )
  if (omitted.length === 0) return { request, omitted }
  const kept = Object.entries(request).filter(([name]) => !omitted.some((field) => field === name))
  // The cast is safe: only optional fields are gone.
  return { request: Object.fromEntries(kept) as ChatRequest, omitted }
}
