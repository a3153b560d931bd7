import type { Model } from '../../core/contract/index.ts'
import type { Capabilities } from '../../providers/capabilities.ts'
import type { Catalog } from '../../providers/catalog.ts'
import type { ModeWeights } from './score.ts'

/** What there is to choose from. */
export interface RoutingCatalog {
  readonly catalog: Catalog
  readonly weights: ModeWeights
  latencyOf(model: Model): number
  /** Undefined for a provider without an address and a key. */
  capabilitiesOf(provider: string): Capabilities | undefined
  /** False while a model is given a rest after failures. */
  isUsable(model: Model): boolean
}
