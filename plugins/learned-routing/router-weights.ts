import {
  AppendTooLargeError,
  type Author,
  type EventLog,
  EventLogUnavailableError,
  type RecordedEvent,
} from '../../core/contract/index.ts'
import { hashEventLeaf } from '../../core/event-log/transparency/event-leaf.ts'
import {
  checksumOf,
  MAX_ROUTER_BYTES,
  modelsOfWeights,
  ROUTER_WEIGHTS_STORED,
  routerWeightsStream,
  type TrainedModels,
} from '../../core/events/router-events.ts'
import type { RouterVersion } from '../../projections/routers.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'

/**
 * Reads the models of a version with their weights. Throws if the log has none with its checksum, and an
 * `EventLogUnavailableError` if the log is unavailable.
 */
export async function readRouterModels(
  log: Pick<EventLog, 'read'>,
  { checksum }: Pick<RouterVersion, 'checksum'>,
): Promise<TrainedModels> {
  const { models, isMissing } = await findModels(log, checksum)
  if (models !== undefined) return models
  throw new Error(
    isMissing ? 'its weights are not in the event log' : 'its weights are not those that were trained',
  )
}

/** The event with the weights of a version. */
interface StoredWeights {
  readonly bytes: number
  /** Hash of its leaf, in hex. */
  readonly weightsLeaf: string
}

/** Writes the weights of a version, unless the log has them: the same ratings yield the same weights. */
export async function storeRouterModels(
  models: TrainedModels,
  author: Author,
  log: Pick<EventLog, 'read'>,
  writer: Pick<EventWriter, 'store'>,
): Promise<StoredWeights> {
  const checksum = checksumOf(models)
  const stream = routerWeightsStream(checksum)
  const bytes = Buffer.byteLength(JSON.stringify({ models }))
  if (bytes > MAX_ROUTER_BYTES) throw new AppendTooLargeError(stream, bytes, MAX_ROUTER_BYTES)
  const find = async () => (await findModels(log, checksum)).record
  let record = await find()
  if (record === undefined) {
    await writer.store(stream, [{ type: ROUTER_WEIGHTS_STORED, data: { models } }], author)
    record = await find()
  }
  if (record === undefined) throw new EventLogUnavailableError('the weights cannot be read back yet')
  return { bytes, weightsLeaf: hashEventLeaf(record).toString('hex') }
}

interface FoundModels {
  readonly models?: TrainedModels
  /** The event that has them. */
  readonly record?: RecordedEvent
  readonly isMissing: boolean
}

/** Later events of a stream replace a damaged one. */
async function findModels(log: Pick<EventLog, 'read'>, checksum: string): Promise<FoundModels> {
  let isMissing = true
  for await (const record of log.read(routerWeightsStream(checksum))) {
    const models = modelsOfWeights(record)
    if (models !== undefined && checksumOf(models) === checksum) return { models, record, isMissing: false }
    isMissing = false
  }
  return { isMissing }
}
