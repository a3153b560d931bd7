import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../../util/error-message.ts'
import { syncFolder } from '../../util/sync-folder.ts'
import { SqliteDatabase } from './database.ts'

/** One file of a backup; its newest position is 0 if it has no events. */
export interface FileBackup {
  readonly file: string
  readonly events: number
  readonly streams: number
  readonly position: number
}

/**
 * Copies the embedded log's files, each as a consistent snapshot, while other processes read and write them.
 * The folder must be empty or missing. `events.db` gets its final name last, so a folder that contains it
 * holds a complete backup.
 */
export async function backUpSqliteLog(
  directory: string,
  folder: string,
  { historyOnly = false } = {},
): Promise<readonly FileBackup[]> {
  if (!existsSync(join(directory, 'events.db'))) throw new Error(`no event log found in ${directory}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0)
    throw new Error(`${folder} is not empty: choose an empty or new folder for the backup`)

  // The history is copied second, so that it contains every user whose responses were copied.
  const files = [...(historyOnly ? [] : ['responses.db']), 'events.db']
  const copied: FileBackup[] = []
  try {
    for (const file of files.filter((file) => existsSync(join(directory, file)))) {
      const copy = join(folder, `${file}.partial`)
      await copyDatabase(join(directory, file), copy)
      copied.push({ file, ...verifyCopy(copy) })
    }
    for (const { file } of copied) await rename(join(folder, `${file}.partial`), join(folder, file))
    await syncFolder(folder)
    return copied
  } catch (cause) {
    for (const file of files) await rm(join(folder, `${file}.partial`), { force: true })
    throw new Error(`the backup failed: ${errorMessage(cause)}`, { cause })
  }
}

/** More pages than a database can have. */
const ALL_PAGES = 0x7fffffff

/**
 * Copies in a single step: SQLite restarts a backup if the source changes between two steps, and a busy
 * gateway never stops changing it.
 */
async function copyDatabase(source: string, copy: string): Promise<void> {
  const database = new SqliteDatabase(source, { fileMustExist: true })
  try {
    await database.backup(copy, { progress: () => ALL_PAGES })
  } finally {
    database.close()
  }
}

/** Reads the whole copy; throws if it is damaged. */
function verifyCopy(copy: string): Omit<FileBackup, 'file'> {
  const database = new SqliteDatabase(copy)
  try {
    const result = database.pragma('integrity_check', { simple: true })
    if (result !== 'ok') throw new Error(`the copy is damaged: ${result}`)
    const [events, streams, position] = database
      .prepare<[], [number, number, number]>(
        'SELECT count(*), count(DISTINCT stream), ifnull(max(position), 0) FROM events',
      )
      .raw()
      .get() ?? [0, 0, 0]
    return { events, streams, position }
  } finally {
    database.close()
  }
}
