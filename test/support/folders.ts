import { rmSync } from 'node:fs'
import { cp, mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

const folders: string[] = []

/** Creates an empty folder that is removed when this process exits. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'signalbox-test-'))
  folders.push(folder)
  return folder
}

/** Copies a folder into a new one. */
export async function copyFolder(folder: string): Promise<string> {
  const copy = await makeFolder()
  await cp(folder, copy, { recursive: true })
  return copy
}

process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
