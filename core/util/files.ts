import { randomUUID } from 'node:crypto'
import { chmod, type FileHandle, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Fsyncs a folder. A new or renamed file is durable only after its folder was synced, too. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Writes a file atomically: under its name, it is complete and on disk, or as it was before. Creates its
 * folder. Several processes may do so at once.
 */
export async function replaceFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true })
  const unfinished = `${path}.${randomUUID()}.tmp`
  try {
    await writeSynced(unfinished, write)
    await rename(unfinished, path)
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  await syncFolder(folder)
}

async function writeSynced(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await write(file)
    await file.sync()
  } finally {
    await file.close()
  }
}

const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600
const OTHERS = 0o077

/**
 * Creates the folder if it does not exist, and takes all permissions of other users from it, its files, and
 * the files of its subfolders. Files that this process creates later are private, too. Returns the paths
 * whose permissions could not be changed: they belong to another user.
 */
export async function makeFolderPrivate(folder: string): Promise<readonly string[]> {
  process.umask(OTHERS)
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
  const entries = await readdir(folder, { withFileTypes: true })
  const subfolders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name))
  const files = await Promise.all([folder, ...subfolders].map(listFiles))
  const paths = [folder, ...subfolders, ...files.flat()]
  const failed = await Promise.all(paths.map(makePrivate))
  return paths.filter((_, index) => failed[index])
}

async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => join(folder, name))
}

/** Resolves with true if the permissions could not be changed. Another process may have removed the file. */
async function makePrivate(path: string): Promise<boolean> {
  try {
    const entry = await lstat(path)
    if ((entry.mode & OTHERS) !== 0) await chmod(path, entry.isDirectory() ? PRIVATE_FOLDER : PRIVATE_FILE)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}
