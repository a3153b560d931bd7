import { open } from 'node:fs/promises'

/** Fsyncs a folder. A new or renamed file is durable only after its folder was synced, too. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
