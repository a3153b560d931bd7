import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../../util/error-message.ts'
import { syncFolder } from '../../util/sync-folder.ts'
import { SqliteDatabase } from './database.ts'

/** One file of a backup: how many events are in it, and the newest one's position, 0 for none. */
export interface FileBackup {
  readonly file: string
  readonly events: number
  readonly position: number
}

/**
 * Copies the embedded log's files while others read and write them, each as it is at one moment, into a folder that is empty or not
 * there. `events.db` is the last to get its name: a folder that has it holds a whole backup.
 */
export async function backUpSqliteLog(
  directory: string,
  folder: string,
  { historyOnly = false } = {},
): Promise<readonly FileBackup[]> {
  if (!existsSync(join(directory, 'events.db'))) throw new Error(`there is no event log in ${directory}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0)
    throw new Error(`${folder} is not empty: name a folder for this backup alone`)

  // The history comes second, so that it knows every user whose responses are there.
  const files = [...(historyOnly ? [] : ['responses.db']), 'events.db']
  const copied: FileBackup[] = []
  try {
    for (const file of files.filter((file) => existsSync(join(directory, file)))) {
      const copy = join(folder, `${file}.partial`)
      await copyFile(join(directory, file), copy)
      copied.push({ file, ...checkCopy(copy) })
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

/** In one step: SQLite begins anew when the source has changed between two, and a busy gateway never stops changing it. */
async function copyFile(source: string, copy: string): Promise<void> {
  const database = new SqliteDatabase(source, { fileMustExist: true })
  try {
    await database.backup(copy, { progress: () => ALL_PAGES })
  } finally {
    database.close()
  }
}

/** Reads the whole copy back; throws when it is damaged. */
function checkCopy(copy: string): Omit<FileBackup, 'file'> {
  const database = new SqliteDatabase(copy)
  try {
    const found = database.pragma('integrity_check', { simple: true })
    if (found !== 'ok') throw new Error(`the copy is damaged: ${found}`)
    const [events, position] = database
      .prepare<[], [number, number]>('SELECT count(*), ifnull(max(position), 0) FROM events')
      .raw()
      .get() ?? [0, 0]
    return { events, position }
  } finally {
    database.close()
  }
}
