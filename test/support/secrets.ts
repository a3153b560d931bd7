import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { makeFolder } from './folders.ts'

/** A text that must not appear in any output. */
export const SECRET = 'a-secret-that-nobody-is-to-see'

/** Writes a file for a `<NAME>_FILE` variable and returns its path. */
export async function writeSecret(text: string): Promise<string> {
  const file = path.join(await makeFolder(), 'secret')
  await writeFile(file, text)
  return file
}
