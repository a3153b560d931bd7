import type { ChatRequest, Model } from '../../core/contract/index.ts'

/** The models that the gateway knows (docs/providers.md, "The catalogue"). */
export interface Catalog {
  readonly models: readonly Model[]
  /** Finds a model by its id or an alias, among the models of one provider if that is given. */
  find(name: string, provider?: string): Model | undefined
}

/** Where several providers offer a model of the same name, `find` prefers those that are configured. */
export function createCatalog(
  models: readonly Model[],
  isConfigured: (provider: string) => boolean = () => true,
): Catalog {
  const byName = new Map<string, Model[]>()
  const rank = ({ provider }: Model) => (isConfigured(provider) ? 0 : 1)
  for (const model of models.toSorted((a, b) => rank(a) - rank(b))) {
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

/** The configured features of a provider's models (docs/api.md, "Capabilities"). */
export interface Capabilities {
  /** JSON mode: `none`, `object` (`json_object`), or `schema` (`json_schema` as well). */
  readonly json: 'none' | 'object' | 'schema'
  readonly logit_bias: boolean
  readonly seed: boolean
}

/** Fields that are left out, with a warning, for providers that do not support them. */
const OPTIONAL_FIELDS = ['logit_bias', 'seed'] as const

/** Removes the fields that the provider does not support. `omitted` names those that were set. */
export function limitRequest(
  request: ChatRequest,
  capabilities: Capabilities,
): { request: ChatRequest; omitted: readonly string[] } {
  const omitted = OPTIONAL_FIELDS.filter(
    (name) => !capabilities[name] && request[name] !== undefined && request[name] !== null,
  )
  if (omitted.length === 0) return { request, omitted }
  const kept = Object.entries(request).filter(([name]) => !omitted.some((field) => field === name))
  // The cast is safe because only optional fields were removed.
  return { request: Object.fromEntries(kept) as ChatRequest, omitted }
}
