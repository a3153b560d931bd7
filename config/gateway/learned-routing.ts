import type { Model } from '../../core/contract/index.ts'
import { costOf } from '../../core/prices/cost.ts'
import type { LearnedRoutingServices } from '../../plugins/learned-routing/connect.ts'
import { createFeatureSecret, type FeatureSecret } from '../../plugins/learned-routing/features.ts'
import type { RoutersPluginServices } from '../../plugins/learned-routing/plugin.ts'
import { createRouterCommands } from '../../plugins/learned-routing/router-commands.ts'
import { createRouterReplay } from '../../plugins/learned-routing/router-replay.ts'
import type { RouterVerdict } from '../../plugins/learned-routing/schemas.ts'
import type { TrainedModelFacts } from '../../plugins/learned-routing/train.ts'
import { MAX_QUALITY } from '../../plugins/routing/rank-models.ts'
import { type Catalog, isRetired } from '../../providers/shared/catalog.ts'
import type { Settings, SettingsData } from '../settings/settings.ts'
import { openRouterThread, type RouterThread } from './router-thread.ts'
import type { OpenState } from './state.ts'

interface Dependencies {
  readonly state: Pick<OpenState, 'logId' | 'log' | 'routers' | 'groups' | 'subscription' | 'writer'>
  readonly catalog: Pick<Catalog, 'models'>
  /** Whether a provider is configured. */
  isServed(provider: string): boolean
  /** Repeats a call while the event log is unavailable. */
  retry(run: () => Promise<void>): Promise<void>
  /** Whether this process trains by schedule. */
  readonly trainsRouters: boolean
}

/** What learned routing consists of. */
interface LearnedRouting {
  readonly featureSecret: FeatureSecret
  /** What the plugin `routing` decides with; undefined while it is off. */
  readonly deciding: LearnedRoutingServices | undefined
  readonly training: RoutersPluginServices
}

export function createLearnedRouting(
  settings: Settings,
  { state, catalog, isServed, trainsRouters, retry }: Dependencies,
): LearnedRouting {
  const { routers, groups, subscription, log } = state
  const { learned, explore, train_every_hours, min_model_ratings: minModelRatings } = settings.routing
  const { trainer, featureSecret, thread } = createTrainer(settings, { state, catalog })
  const replay = createRouterReplay(log, () => featureSecret.id(), minModelRatings)
  return {
    featureSecret,
    deciding:
      learned === 'off'
        ? undefined
        : {
            replay,
            mode: { learned, explore },
            minModelRatings,
            featureSecret,
            routers,
            groups,
            log,
            subscription,
            retry,
          },
    training: {
      routers,
      groups,
      log,
      subscription,
      commands: trainer.commands,
      trainer,
      trainEveryHours: trainsRouters && learned !== 'off' ? train_every_hours : 0,
      replay: (router, models, range, signal) =>
        thread.replay(
          {
            ...range,
            router,
            models,
            featureKeyId: featureSecret.id(),
            minModelRatings,
            candidates: catalog.models.filter((model) => isCandidate(model) && isServed(model.provider)),
            weights: settings.modes,
          },
          signal,
        ),
      closeTrainer: thread.close,
    },
  }
}

/** The verdicts with which a new version is activated, by setting. */
const ACTIVATED: Readonly<Record<Settings['routing']['activate'], readonly RouterVerdict[]>> = {
  manual: [],
  when_better: ['better'],
  when_better_on_known_kinds: ['better', 'better_on_known_kinds'],
}

/** What trains versions and changes which one is active, in a gateway or in a command. */
export function createTrainer(
  settings: SettingsData,
  { state, catalog }: Pick<Dependencies, 'state' | 'catalog'>,
): {
  readonly trainer: RoutersPluginServices['trainer']
  readonly featureSecret: FeatureSecret
  readonly thread: RouterThread
} {
  const { activate, train_days, min_ratings } = settings.routing
  const featureSecret = createFeatureSecret(settings.data_dir, settings.features_key)
  const thread = openRouterThread(settings, state.logId)
  const trainer = {
    commands: createRouterCommands(state.routers, state.writer, state.log, featureSecret.id),
    run: thread.train,
    facts: () => listFacts(catalog),
    trainDays: train_days,
    minRatings: min_ratings,
    activates: (verdict: RouterVerdict) => ACTIVATED[activate].includes(verdict),
  }
  return { trainer, featureSecret, thread }
}

function isCandidate(model: Model): boolean {
  return (model.operation ?? 'chat') === 'chat' && model.automatic !== false && !isRetired(model)
}

/** Tokens of a typical request, for the cost of models in figures. */
const TYPICAL_USAGE = { input: 1000, output: 500 }

function listFacts({ models }: Pick<Catalog, 'models'>): readonly TrainedModelFacts[] {
  const chats = models.filter(({ operation = 'chat' }) => operation === 'chat')
  return chats.map((model) => {
    return { id: model.id, quality: model.quality / MAX_QUALITY, cost: costOf(model, TYPICAL_USAGE) }
  })
}
