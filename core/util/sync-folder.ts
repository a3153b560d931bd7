import { open } from 'node:fs/promises'

/** A new name is on disk only when the folder is, whatever was synced of the file. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
