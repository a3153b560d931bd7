import type { EventLog } from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { hashEventLeaf } from '../../core/event-log/transparency/event-leaf.ts'
import { createMetadata } from '../../core/events/codec.ts'
import {
  createFeatureKey,
  createFeatureSecret,
  extractFeatures,
} from '../../plugins/learned-routing/features.ts'
import { encodeWeights } from '../../plugins/learned-routing/model.ts'
import {
  checksumOf,
  ROUTERS_STREAM,
  type RouterEvent,
  type RouterScope,
  RouterWeightsStored,
  routerWeightsStream,
  type TrainedModels,
  type TrainedRouterData,
} from '../../projections/events/routers.ts'
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

/** Returns a version with its weights. */
export function trainedData(version: number, dataDir: string, options: NewVersion): TrainedRouterData {
  const { scope = { everyone: true }, ratings = 200, figures = { better: true, new_kinds: {} } } = options
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

/** Returns the event of a version. Without `weightsLeaf`, it does not match the event of the weights. */
export function versionTrained(
  { models, ...data }: TrainedRouterData,
  weightsLeaf = 'a'.repeat(64),
): RouterEvent {
  const rated = Object.fromEntries(Object.entries(models).map(([id, { ratings }]) => [id, { ratings }]))
  const bytes = JSON.stringify({ models }).length
  return { type: 'RouterTrained', data: { ...data, models: rated, bytes, weightsLeaf } }
}

/** Writes versions to the log in memory of a data folder, as other nodes would. Returns the last position. */
export async function writeVersions(
  dataDir: string,
  versions: readonly TrainedRouterData[],
  log: EventLog = openMemoryLog(dataDir),
): Promise<number> {
  const events: RouterEvent[] = []
  for (const version of versions)
    events.push(versionTrained(version, await writeWeights(log, version.checksum, version.models)))
  return writeRouterEvents(dataDir, events, log)
}

/** Writes weights to the stream of a checksum, whether it is theirs or not. Returns the hash of the leaf. */
export async function writeWeights(log: EventLog, checksum: string, models: TrainedModels): Promise<string> {
  const stream = routerWeightsStream(checksum)
  const event = { type: RouterWeightsStored.type, data: { models } }
  await log.append(stream, [event], { expectedRevision: 'any', metadata: metadata() })
  let leaf = ''
  for await (const record of log.read(stream)) leaf = hashEventLeaf(record).toString('hex')
  return leaf
}

/** As `writeVersions`, for events of any type. */
export async function writeRouterEvents(
  dataDir: string,
  events: readonly RouterEvent[],
  log: EventLog = openMemoryLog(dataDir),
): Promise<number> {
  let last = 0
  for (const event of events) {
    const options = { expectedRevision: 'any', metadata: metadata() } as const
    const { position } = await log.append(ROUTERS_STREAM, [event], options)
    last = position
  }
  return last
}

function metadata() {
  return createMetadata({ actor: SYSTEM_ACTOR }, new Date().toISOString().replace('Z', '000Z'))
}
