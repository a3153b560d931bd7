import type { Attributes, Model, Target } from '../../core/contract/index.ts'
import type { ProviderClient } from './client.ts'
import { createLatencyTracker, type LatencyTracker } from './latency.ts'

export const BALANCES = ['weighted', 'least_busy', 'latency'] as const

/** How requests are divided among the deployments of a provider (docs/guides/deployments.md). */
export type Balance = (typeof BALANCES)[number]

/** What may be sent to a deployment, over all processes. Undefined: no limit. */
export interface DeploymentLimits {
  readonly requests_per_minute?: number
  readonly tokens_per_minute?: number
  readonly max_concurrent?: number
}

/** One of the endpoints or keys of a provider. */
export interface DeploymentOptions extends DeploymentLimits, Attributes {
  readonly id: string
  /** Replaces the model name in requests. */
  readonly model?: string
  /** Default: 1. */
  readonly weight?: number
}

/** A deployment with its client, and what this process has in flight there. */
export class Deployment {
  readonly id: string
  readonly options: DeploymentOptions
  readonly client: ProviderClient
  readonly weight: number
  readonly latency: LatencyTracker = createLatencyTracker()
  readonly #measured = new WeakSet<Model>()
  readonly #targets = new WeakMap<Target, Target>()
  requestsInFlight = 0
  tokensInFlight = 0
  /** The weights that it is owed. */
  credit = 0

  constructor(options: DeploymentOptions, client: ProviderClient) {
    this.id = options.id
    this.options = options
    this.client = options.model === undefined ? client : withModel(client, options.model)
    this.weight = options.weight ?? 1
  }

  /** The target at this deployment: always the same object for the same target. */
  at(target: Target): Target {
    const known = this.#targets.get(target) ?? { ...target, deployment: this.id }
    this.#targets.set(target, known)
    return known
  }

  markMeasured({ entry }: Target): void {
    if (entry !== undefined) this.#measured.add(entry)
  }

  /** 0 until a reply was measured, so that every deployment is tried. */
  latencyOf({ entry }: Target): number {
    return entry !== undefined && this.#measured.has(entry) ? this.latency.estimateMs(entry) : 0
  }

  /** See docs/guides/deployments.md, "Balance". */
  get load(): number {
    return (this.requestsInFlight + this.tokensInFlight / TOKENS_PER_REQUEST) / this.weight
  }
}

/** So many tokens in flight are as much load as a request. */
const TOKENS_PER_REQUEST = 1000

/** Every so many choices by latency, one is made by weight: a deployment that was slow is measured again. */
const EXPLORED_EVERY = 20

/** The deployments of one provider. */
export class DeploymentPool {
  readonly members: readonly Deployment[]
  readonly balance: Balance
  /** Whether the tokens of requests have to be estimated. */
  readonly countsTokens: boolean
  #choices = 0

  constructor(members: readonly Deployment[], balance: Balance = 'weighted') {
    this.members = members
    this.balance = balance
    this.countsTokens =
      balance === 'least_busy' || members.some(({ options }) => options.tokens_per_minute !== undefined)
  }

  /** Returns the best of some deployments for the next request. */
  choose(candidates: readonly Deployment[], target: Target): Deployment | undefined {
    return this.#chooseByWeight(candidates.length < 2 ? candidates : this.#best(candidates, target))
  }

  #best(candidates: readonly Deployment[], target: Target): readonly Deployment[] {
    if (this.balance === 'weighted') return candidates
    this.#choices += 1
    if (this.balance === 'latency' && this.#choices % EXPLORED_EVERY === 0) return candidates
    const costOf = (deployment: Deployment) =>
      this.balance === 'latency' ? deployment.latencyOf(target) : deployment.load
    const least = Math.min(...candidates.map(costOf))
    return candidates.filter((deployment) => costOf(deployment) === least)
  }

  /** Smooth weighted round robin: each run of choices has the shares of the weights, and no bursts. */
  #chooseByWeight(candidates: readonly Deployment[]): Deployment | undefined {
    let chosen: Deployment | undefined
    let total = 0
    for (const candidate of candidates) {
      total += candidate.weight
      candidate.credit += candidate.weight
      if (chosen === undefined || candidate.credit > chosen.credit) chosen = candidate
    }
    if (chosen !== undefined) chosen.credit -= total
    return chosen
  }
}

/** A client that sends its requests to a model under the name that the deployment has for it. */
function withModel(client: ProviderClient, model: string): ProviderClient {
  const { countTokens } = client
  const rename = (target: Target): Target => ({ ...target, model })
  return {
    ...client,
    send: (request, target, ...rest) => client.send(request, rename(target), ...rest),
    countTokens: countTokens && ((request, target, ...rest) => countTokens(request, rename(target), ...rest)),
  }
}
