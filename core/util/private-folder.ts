import { chmod, lstat, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'

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
