import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '../../util/error-message.ts'
import { syncFolder } from '../../util/files.ts'
import { SqliteDatabase } from './database.ts'
import { refuseForeignWal } from './foreign-wal.ts'

/** One file of a backup. */
export interface FileBackup {
  readonly file: string
  /** What the counting query of the file returned. */
  readonly counts: readonly number[]
}

/** A file to copy, and a query that returns one row of numbers about its content. */
export interface BackupSource {
  readonly file: string
  readonly countSql: string
}

/**
 * Copies files of the data folder, each as a consistent snapshot, while other processes read and write them.
 * Files that do not exist are left out. The folder must be empty or missing. The last file gets its final
 * name last, so a folder that contains it holds a complete backup.
 */
export async function backUpDatabases(
  directory: string,
  folder: string,
  sources: readonly BackupSource[],
): Promise<readonly FileBackup[]> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  if ((await readdir(folder)).length > 0)
    throw new Error(`${folder} is not empty: choose an empty or new folder for the backup`)

  const copied: FileBackup[] = []
  try {
    for (const { file, countSql } of sources.filter(({ file }) => existsSync(join(directory, file)))) {
      const copy = join(folder, `${file}.partial`)
      await copyDatabase(join(directory, file), copy)
      copied.push({ file, counts: verifyCopy(copy, countSql) })
    }
    for (const { file } of copied) await rename(join(folder, `${file}.partial`), join(folder, file))
    await syncFolder(folder)
    return copied
  } catch (cause) {
    for (const { file } of sources) await rm(join(folder, `${file}.partial`), { force: true })
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
  refuseForeignWal(source)
  const database = new SqliteDatabase(source, { fileMustExist: true })
  try {
    await database.backup(copy, { progress: () => ALL_PAGES })
  } finally {
    database.close()
  }
}

/**
 * Reads the whole copy; throws if it is damaged. Marks it as a file that never had a write-ahead log, so that
 * one which lies beside it after a restore is recognized.
 */
function verifyCopy(copy: string, countSql: string): readonly number[] {
  const database = new SqliteDatabase(copy)
  try {
    database.pragma('journal_mode = DELETE')
    const result = database.pragma('integrity_check', { simple: true })
    if (result !== 'ok') throw new Error(`the copy is damaged: ${result}`)
    return database.prepare<[], number[]>(countSql).raw().get() ?? []
  } finally {
    database.close()
  }
}
