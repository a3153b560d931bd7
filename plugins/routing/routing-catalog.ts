import {
  type ChatRequest,
  type Mode,
  type Model,
  type Requirement,
  service,
  type Target,
} from '../../core/contract/index.ts'
import type { Capabilities, Catalog } from '../../providers/shared/catalog.ts'
import type { ParameterFit } from '../../providers/shared/parameter-fit.ts'

/** The models that routing chooses from, and the figures it compares. */
export interface RoutingCatalog {
  readonly catalog: Catalog
  readonly weights: ModeWeights
  /** Aliases of routing modes in the settings, in lower case. */
  readonly modeAliases?: ReadonlyMap<string, Mode> | undefined
  /** The expected latency of a short reply, in milliseconds. */
  latencyOf(model: Model): number
  /** Undefined if the provider is not configured (no address or no API key). */
  capabilitiesOf(provider: string): Capabilities | undefined
  /** The environment variable whose value a provider lacks, if it is listed and needs an API key. */
  missingKeyOf?(provider: string): string | undefined
  /** How well models fit the parameters of a request. Default: perfectly. */
  fitParameters?(request: ChatRequest): (model: Model) => ParameterFit
  /** Whether the provider's format reads this field of `extra_content`. Default: none does. */
  reads?(provider: string, content: string): boolean
  /** Whether a target, or a deployment of its provider, meets a requirement. Default: by its entry alone. */
  meets?(requirement: Requirement, target: Target): boolean
  /** False while the circuit breaker of the model is open for the user. */
  isUsable(model: Model, userId: number): boolean
}

export const RoutingCatalog = service<RoutingCatalog>('routing.catalog')

export type ModeWeights = Readonly<Record<Mode, ScoreWeights>>

/** The weights of cost, quality and latency in a score. Only their ratio matters. */
export interface ScoreWeights {
  readonly cost: number
  readonly quality: number
  readonly latency: number
}
