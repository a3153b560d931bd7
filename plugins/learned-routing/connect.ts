import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import { ROUTERS_STREAM } from '../../core/events/router-events.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Routers } from '../../projections/routers.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import { createActiveRouters } from './active-routers.ts'
import { type AssessPrompt, createPromptAssessor, type LearnedRoutingMode } from './assess-prompt.ts'
import type { FeatureSecret } from './feature-secret.ts'
import { createFeatureKey } from './keyed-hash.ts'

/** What deciding with learned routers depends on. */
export interface LearnedRoutingServices {
  readonly mode: LearnedRoutingMode
  readonly minModelRatings: number
  readonly featureSecret: FeatureSecret
  readonly routers: Routers
  readonly groups: Pick<Groups, 'groupsOf'>
  readonly subscription: Pick<Subscription, 'onApplied'>
}

/**
 * Loads the active versions, now and whenever that changes, and returns the function that assesses prompts
 * with them. A version is in force from the position of its event on, in every process.
 */
export function connectLearnedRouting(
  { mode, minModelRatings, featureSecret, routers, groups, subscription }: LearnedRoutingServices,
  metrics: Registry,
  logger: Logger,
): AssessPrompt {
  const registers = [metrics]
  const refused = new Counter({
    name: 'signalbox_router_versions_refused_total',
    help: 'Activated versions of learned routers that this node cannot use, because they are damaged.',
    aggregator: 'max',
    registers,
  })
  new Gauge({
    name: 'signalbox_router_version',
    help: 'Version of the learned router that is active for everyone; 0 if there is none.',
    aggregator: 'min',
    registers,
    collect() {
      this.set(routers.activationsOf({ everyone: true }).at(-1) ?? 0)
    },
  })
  const active = createActiveRouters({
    routers,
    groups,
    featureKeyId: featureSecret.id(),
    minModelRatings,
    logger,
    countDamaged: () => refused.inc(),
  })
  subscription.onApplied(({ stream }) => {
    if (stream === ROUTERS_STREAM) active.refresh()
  })
  return createPromptAssessor(mode, createFeatureKey(featureSecret.read()), active.of)
}
