import type { EventLog, Plugin } from '../../core/contract/index.ts'
import { readToEnd } from '../../core/log/read-to-end.ts'
import { createProjections } from '../../projections/all.ts'
import { createPluginChecker } from './verify/check-plugins.ts'
import { createChecker } from './verify/check-record.ts'
import { checkSnapshots } from './verify/check-snapshots.ts'
import { applyTo, digestOf } from './verify/state.ts'

/** What was found, in sentences. */
export interface Findings {
  readonly facts: readonly string[]
  /** Empty when all is well. */
  readonly faults: readonly string[]
}

/**
 * Reads the log twice: every revision follows the one before, every event can be read, both readings lead to the same state, and
 * so do the snapshots in the folder. Events of these plugins are checked by their schemas, too.
 */
export async function verifyLog(
  log: EventLog,
  folder: string,
  listed: readonly Plugin[] = [],
): Promise<Findings> {
  const plugins = createPluginChecker(listed)
  const checker = createChecker(plugins.faultOf)
  const projections = createProjections()
  const snapshots = await checkSnapshots(folder)
  let position = 0
  for await (const record of readToEnd(log)) {
    checker.check(record)
    applyTo(projections, record)
    position = record.position
    await snapshots.compare(record, projections)
  }
  const digest = await digestOf(projections)

  const again = createProjections()
  for await (const record of readToEnd(log)) {
    if (record.position > position) break
    applyTo(again, record)
    plugins.repeat(record)
  }
  const isSame = (await digestOf(again)) === digest
  return {
    facts: [
      ...checker.facts(),
      ...plugins.facts(),
      ...(isSame ? ['Two rebuilds led to the same state.'] : []),
      ...snapshots.facts(),
    ],
    faults: [
      ...checker.faults(),
      ...(isSame ? [] : ['Two rebuilds led to different states.']),
      ...plugins.faults(),
      ...snapshots.faults(),
    ],
  }
}
