import { createHmac } from 'node:crypto'
import { lazy } from '../../core/util/lazy.ts'
import type { ImportServices } from '../../plugins/feedback/import-ratings.ts'
import {
  createFeatureKey,
  encodeFeatures,
  extractFeatures,
  type FeatureKey,
  type FeatureSecret,
} from '../../plugins/learned-routing/features.ts'
import type { Catalog } from '../../providers/shared/catalog.ts'

/** What imports of rated prompts need: the features of requests, and the names of models. */
export function createRatingImport(
  featureSecret: FeatureSecret,
  catalog: Pick<Catalog, 'find'>,
): Omit<ImportServices, 'store' | 'report'> {
  // The first import creates the secret, if nothing else has.
  const secret = lazy(() => featureSecret.read())
  const key = lazy((): FeatureKey => createFeatureKey(secret()))
  return {
    identify(parts) {
      const hash = createHmac('sha256', secret())
      for (const part of parts) hash.update(`${part.length}:${part}`)
      return hash.digest().readUIntBE(0, 6)
    },
    extract: (prompt) => encodeFeatures(extractFeatures(prompt, key())),
    findModel: (name) => catalog.find(name)?.id ?? matchWithProvider(name, catalog),
  }
}

/** `provider/name`, as answers show it. */
function matchWithProvider(name: string, catalog: Pick<Catalog, 'find'>): string | undefined {
  const [, provider, model] = /^([^/]+)\/(.+)$/.exec(name) ?? []
  return provider === undefined || model === undefined ? undefined : catalog.find(model, provider)?.id
}
