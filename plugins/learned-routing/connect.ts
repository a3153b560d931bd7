import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import { type EventLog, service } from '../../core/contract/index.ts'
import { ROUTERS_STREAM } from '../../projections/events/routers.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Routers } from '../../projections/routers.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import { createActiveRouters } from './active-routers.ts'
import type { AssessPrompt, LearnedRoutingMode } from './assess-prompt.ts'
import { createPromptAssessor } from './assess-prompt.ts'
import { createFeatureKey, type FeatureSecret } from './features.ts'
import type { RouterReplay } from './router-replay.ts'

/** What deciding with learned routers depends on. */
export interface LearnedRoutingServices {
  readonly mode: LearnedRoutingMode
  readonly minModelRatings: number
  readonly featureSecret: FeatureSecret
  readonly routers: Routers
  readonly groups: Pick<Groups, 'groupsOf'>
  readonly log: Pick<EventLog, 'read'>
  /** Repeats a call while the event log is unavailable. */
  retry(run: () => Promise<void>): Promise<void>
  readonly subscription: Pick<Subscription, 'onApplied' | 'prepareEvents'>
  readonly replay?: RouterReplay
}

/**
 * Loads the active versions, and each one that is activated later, and resolves with the function that
 * assesses prompts with them. A version is in force from the position of its event on, in every process.
 * Without services, learned routing is off: then there are only the metrics.
 */
export async function connectLearnedRouting(
  services: LearnedRoutingServices | undefined,
  metrics: Registry,
  logger: Logger,
): Promise<AssessPrompt | undefined> {
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
      this.set(services?.routers.activationsOf({ everyone: true }).at(-1) ?? 0)
    },
  })
  if (services === undefined) return undefined
  const { mode, minModelRatings, featureSecret, routers, groups, log, subscription, retry } = services
  const active = createActiveRouters({
    routers,
    groups,
    featureKeyId: featureSecret.id(),
    minModelRatings,
    logger,
    countDamaged: () => refused.inc(),
  })
  subscription.prepareEvents(active.prepare)
  subscription.onApplied(({ stream }) => {
    if (stream === ROUTERS_STREAM) active.refresh()
  })
  await retry(() => active.load(log))
  return createPromptAssessor(mode, createFeatureKey(featureSecret.read()), active.of, services.replay)
}

/** Undefined while learned routing is off. The gateway creates it, for the plugins `routing` and `audit`. */
export const LearnedRouting = service<LearnedRoutingServices | undefined>('routers.deciding')
