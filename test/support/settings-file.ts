import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from './folders.ts'

/** A settings file for `CONFIG` with this text; gives its path. */
export async function writeSettings(yaml: string): Promise<string> {
  const file = path.join(await makeFolder(), 'settings.yaml')
  await writeFile(file, yaml)
  return file
}
