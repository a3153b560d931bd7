import type { EventLog } from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { createMetadata } from '../../core/events/codec.ts'
import {
  ROUTERS_STREAM,
  type RouterEvent,
  type RouterScope,
  type TrainedRouterData,
} from '../../core/events/router-events.ts'
import { checksumOf } from '../../plugins/learned-routing/active-routers.ts'
import { createFeatureSecret } from '../../plugins/learned-routing/feature-secret.ts'
import { extractFeatures } from '../../plugins/learned-routing/features.ts'
import { createFeatureKey } from '../../plugins/learned-routing/keyed-hash.ts'
import { encodeWeights } from '../../plugins/learned-routing/model.ts'
import { openMemoryLog } from './memory-logs.ts'

/**
 * Encodes weights with which a model is good at prompts with this word, and at no others. `featuresKey`: the
 * FEATURES_KEY of the gateway, if it has one.
 */
export function goodAt(word: string, dataDir: string, featuresKey?: string): string {
  const key = createFeatureKey(createFeatureSecret(dataDir, featuresKey).read())
  const words = new Float32Array(65_536)
  for (const index of extractFeatures({ lastUserMessage: word }, key).indices) words[index] = 32
  return encodeWeights({ bias: -8, words, numbers: new Float32Array(10) })
}

interface NewVersion {
  readonly scope?: RouterScope
  /** Weights by model. */
  readonly models: Readonly<Record<string, string>>
  readonly ratings?: number
  readonly figures?: TrainedRouterData['figures']
  readonly featuresKey?: string | undefined
  readonly damage?: (data: TrainedRouterData) => TrainedRouterData
}

/** Returns a version as a training would write it. */
export function trainedData(version: number, dataDir: string, options: NewVersion): TrainedRouterData {
  const { scope = { everyone: true }, ratings = 200, figures = { better: true } } = options
  const { damage, featuresKey } = options
  const models = Object.fromEntries(
    Object.entries(options.models).map(([id, weights]) => [id, { ratings, weights }]),
  )
  const data = {
    version,
    scope,
    models,
    figures,
    trainedFrom: { ratings },
    featureKeyId: createFeatureSecret(dataDir, featuresKey).id(),
    checksum: checksumOf(models),
  }
  return damage?.(data) ?? data
}

/** Writes versions to the log in memory of a data folder, as other nodes would. Returns the last position. */
export function writeVersions(
  dataDir: string,
  versions: readonly TrainedRouterData[],
  log?: EventLog,
): Promise<number> {
  const events = versions.map((data): RouterEvent => ({ type: 'RouterTrained', data }))
  return writeRouterEvents(dataDir, events, log)
}

/** As `writeVersions`, for events of any type. */
export async function writeRouterEvents(
  dataDir: string,
  events: readonly RouterEvent[],
  log: EventLog = openMemoryLog(dataDir),
): Promise<number> {
  const metadata = createMetadata({ actor: SYSTEM_ACTOR }, new Date().toISOString().replace('Z', '000Z'))
  let last = 0
  for (const event of events) {
    const { position } = await log.append(ROUTERS_STREAM, [event], { expectedRevision: 'any', metadata })
    last = position
  }
  return last
}
