import type { Mode, Model } from '../../core/contract/index.ts'
import type { Capabilities, Catalog } from '../../providers/shared/catalog.ts'

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

export type ModeWeights = Readonly<Record<Mode, ScoreWeights>>

/** How much cost, quality and latency count, in any unit: only their ratio matters. */
export interface ScoreWeights {
  readonly cost: number
  readonly quality: number
  readonly latency: number
}
