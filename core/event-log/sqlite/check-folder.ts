import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { EventLogUnavailableError } from '../../contract/event-log.ts'
import { isJsonObject } from '../../contract/json.ts'
import { errorMessage } from '../../util/error-message.ts'
import { replaceFile } from '../../util/files.ts'
import { parseJson } from '../../util/json.ts'

export const HISTORY_FILE = 'events.db'
/** Space beside the history that is given up on a full disk. */
export const RESERVE_FILE = 'events.reserve'
/** In the message about a file whose schema version is not known. */
export const NEWER_VERSION = 'was written by a newer version of Signalbox'
const ID_FILE = 'log.json'
/** What is beside either kind of log. That of a log on a server says nothing about an embedded one. */
const COMPANIONS = ['ledger.db', 'snapshots']

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

/** Writes which log the folder belongs to. Rejects with `EventLogUnavailableError` if it cannot. */
export async function writeFolderIdentity(directory: string, identity: FolderIdentity): Promise<void> {
  const path = join(directory, ID_FILE)
  try {
    await replaceFile(path, (file) => file.writeFile(`${JSON.stringify(identity)}\n`))
  } catch (cause) {
    const advice =
      'Check that it is a file or missing, the permissions of its folder, and the space on the disk'
    throw new EventLogUnavailableError(`cannot write ${path}: ${errorMessage(cause)}. ${advice}.`, { cause })
  }
}

/** The files in the folder that tell that it held an embedded log before, besides `events.db`. */
export function listLeftovers(directory: string): readonly string[] {
  const isOnServer = readFolderIdentity(directory)?.store === 'server'
  const leftovers = (isOnServer ? [] : COMPANIONS).filter((name) => hasContent(join(directory, name)))
  return hasHeldLog(directory) ? [...leftovers, ID_FILE] : leftovers
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
    `${join(directory, HISTORY_FILE)} is missing or empty, but the folder holds ${leftovers.join(', ')} ` +
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

/** Whether a file has bytes, or a folder entries. */
export function hasContent(path: string): boolean {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  return isFolder ? readdirSync(path).length > 0 : sizeOf(path) > 0
}

/** 0 for a file that does not exist. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
