import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { EventLogUnavailableError } from '../../contract/event-log.ts'
import { isJsonObject } from '../../contract/json.ts'
import { parseJson } from '../../util/json.ts'
import { replaceFile } from '../../util/replace-file.ts'

export const HISTORY_FILE = 'events.db'
export const EXPIRING_FILE = 'responses.db'
const ID_FILE = 'log.json'

/** What a data folder says about the log that it belongs to. */
export interface FolderIdentity {
  /** Id of the log. */
  readonly id: string
  /** Where the log is: in the folder, or on a server. */
  readonly store: 'embedded' | 'server'
}

/** Returns undefined if the folder belongs to no log yet. */
export function readFolderIdentity(directory: string): FolderIdentity | undefined {
  try {
    const value = parseJson(readFileSync(join(directory, ID_FILE), 'utf8'))
    if (!isJsonObject(value) || typeof value.id !== 'string') return undefined
    return { id: value.id, store: value.store === 'server' ? 'server' : 'embedded' }
  } catch {
    return undefined
  }
}

/** Writes which log the folder belongs to. */
export async function writeFolderIdentity(directory: string, identity: FolderIdentity): Promise<void> {
  await replaceFile(join(directory, ID_FILE), (file) => file.writeFile(`${JSON.stringify(identity)}\n`))
}

/** The files in the folder that tell that it held a log before, besides `events.db`. */
export function listLeftovers(directory: string): readonly string[] {
  return [
    ...(sizeOf(join(directory, EXPIRING_FILE)) > 0 ? [EXPIRING_FILE] : []),
    ...(hasHeldLog(directory) ? [ID_FILE] : []),
  ]
}

/** Whether an embedded log with an id was in the folder. */
export function hasHeldLog(directory: string): boolean {
  return readFolderIdentity(directory)?.store === 'embedded'
}

/** Whether `events.db` is missing or has no bytes. */
export function lacksHistory(directory: string): boolean {
  return sizeOf(join(directory, HISTORY_FILE)) === 0
}

/** The error of a start that would begin an empty log beside files of an earlier one. */
export function createLeftoversError(
  directory: string,
  leftovers: readonly string[],
): EventLogUnavailableError {
  return new EventLogUnavailableError(
    `${join(directory, HISTORY_FILE)} is missing or empty, but the folder holds ${leftovers.join(' and ')} ` +
      `of an event log. Restore ${HISTORY_FILE} from a backup. To start with an empty event log instead, ` +
      'move all files out of the folder first.',
  )
}

/** `reason` is SQLite's message. */
export function createDamagedFileError(
  file: string,
  reason: string,
  cause?: Error,
): EventLogUnavailableError {
  const message = `${file} is damaged: ${reason}. Restore it from a backup`
  return new EventLogUnavailableError(message, { damaged: true, cause })
}

/** 0 for a file that does not exist. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
