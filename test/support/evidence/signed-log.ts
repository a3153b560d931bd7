import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { finished } from 'node:stream/promises'
import { exportLog } from '../../../config/cli/export-log.ts'
import { type LogSettings, openLog } from '../../../config/gateway/state.ts'
import type { EventLog, JsonObject } from '../../../core/contract/index.ts'
import { ensureLogId } from '../../../core/events/log-events.ts'
import { createLogger } from '../../../core/threads/logger.ts'
import { createClock } from '../../../core/util/clock.ts'
import { checksumOf } from '../../../projections/events/routers.ts'
import { CheckpointSigner } from '../../../projections/transparency/sign-checkpoints.ts'
import { captureOutput } from '../captured-output.ts'
import { buildHistory, recordAll } from '../histories.ts'
import { writeWeights } from '../routers.ts'

/** Writes the events and signs three checkpoints, with a few events behind the last one. */
export async function buildSignedLog(settings: LogSettings, events = buildHistory(2, 2)): Promise<void> {
  const log = await openLog(settings)
  const sign = await openSigner(log, settings.data_dir)
  const records = recordAll(events)
  const signAfter = [10, 20, records.length - 3]
  for (const [index, { stream, type, revision, metadata, ...record }] of records.entries()) {
    const data = type === 'RouterTrained' ? await writeNamedWeights(log, record.data) : record.data
    await log.append(stream, [{ type, data }], { expectedRevision: revision - 1, metadata })
    if (signAfter.includes(index)) await sign()
  }
  await log.close()
}

/** Writes weights, and returns the data of a version that names them. */
async function writeNamedWeights(log: EventLog, version: JsonObject): Promise<JsonObject> {
  const models = { 'größe-1': { ratings: 120, weights: 'AAAA' } }
  const checksum = checksumOf(models)
  return { ...version, checksum, weightsLeaf: await writeWeights(log, checksum, models) }
}

/** Returns a function that signs a checkpoint as a gateway does. */
export async function openSigner(log: EventLog, dataDir: string): Promise<() => Promise<void>> {
  const clock = createClock()
  const logId = await ensureLogId(log, clock())
  const logger = createLogger('silent', { destination: captureOutput() })
  return async () => {
    const signer = new CheckpointSigner(log, { dataDir, logId, clock, logger })
    await signer.sign()
    await signer.close()
  }
}

/** Exports a log and returns the file. */
export async function exportToFile(settings: LogSettings): Promise<string> {
  const file = path.join(settings.data_dir, 'events.jsonl')
  const log = await openLog(settings)
  const output = createWriteStream(file)
  await exportLog(log, 0, output)
  output.end()
  await finished(output)
  await log.close()
  return file
}
