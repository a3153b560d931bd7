import { AppendTooLargeError, type Author, type EventLog } from '../../core/contract/index.ts'
import {
  checksumOf,
  MAX_ROUTER_BYTES,
  modelsOfWeights,
  ROUTER_WEIGHTS_STORED,
  ROUTERS_STREAM,
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
  { checksum, weightsAt }: Pick<RouterVersion, 'checksum' | 'weightsAt'>,
): Promise<TrainedModels> {
  const { models, isMissing } = await findModels(log, checksum, weightsAt)
  if (models !== undefined) return models
  throw new Error(
    isMissing ? 'its weights are not in the event log' : 'its weights are not those that were trained',
  )
}

/**
 * Writes the weights of a version, unless the log has them: the same ratings yield the same weights. Resolves
 * with the size of the event.
 */
export async function storeRouterModels(
  models: TrainedModels,
  author: Author,
  log: Pick<EventLog, 'read'>,
  writer: Pick<EventWriter, 'store'>,
): Promise<number> {
  const checksum = checksumOf(models)
  const stream = routerWeightsStream(checksum)
  const bytes = Buffer.byteLength(JSON.stringify({ models }))
  if (bytes > MAX_ROUTER_BYTES) throw new AppendTooLargeError(stream, bytes, MAX_ROUTER_BYTES)
  const stored = await findModels(log, checksum, { stream, revision: 0 })
  if (stored.models === undefined)
    await writer.store(stream, [{ type: ROUTER_WEIGHTS_STORED, data: { models } }], author)
  return bytes
}

async function findModels(
  log: Pick<EventLog, 'read'>,
  checksum: string,
  { stream, revision }: RouterVersion['weightsAt'],
): Promise<{ readonly models?: TrainedModels; readonly isMissing: boolean }> {
  let isMissing = true
  for await (const record of log.read(stream, revision)) {
    const models = modelsOfWeights(record)
    if (models !== undefined && checksumOf(models) === checksum) return { models, isMissing: false }
    isMissing = false
    // Further events are other versions. In a stream of weights, they replace a damaged one.
    if (stream === ROUTERS_STREAM) break
  }
  return { isMissing }
}
