import { createWriteStream } from 'node:fs'
import path from 'node:path'
import { finished } from 'node:stream/promises'
import { exportLog } from '../../../config/cli/export-log.ts'
import { type LogSettings, openLog } from '../../../config/gateway/state.ts'
import type { EventLog } from '../../../core/contract/index.ts'
import { ensureLogId } from '../../../core/events/log-identity.ts'
import { createLogger } from '../../../core/process/logger.ts'
import { createClock } from '../../../core/util/clock.ts'
import { CheckpointSigner } from '../../../projections/transparency/sign-checkpoints.ts'
import { captureOutput } from '../captured-output.ts'
import { buildHistory, recordAll } from '../histories.ts'

/** Writes the events and signs three checkpoints, with a few events behind the last one. */
export async function buildSignedLog(settings: LogSettings, events = buildHistory(2, 2)): Promise<void> {
  const log = await openLog(settings)
  const sign = await openSigner(log, settings.data_dir)
  // The weights of such a version are not in a log that is built from events alone.
  const records = recordAll(events.filter(({ type }) => type !== 'RouterVersionTrained'))
  const signAfter = [10, 20, records.length - 3]
  for (const [index, { stream, type, data, revision, metadata }] of records.entries()) {
    await log.append(stream, [{ type, data }], { expectedRevision: revision - 1, metadata })
    if (signAfter.includes(index)) await sign()
  }
  await log.close()
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
