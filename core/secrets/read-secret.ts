import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'

/**
 * Reads the secret behind a reference, `env:NAME` or `file:PATH`, when it is needed, so that a new one needs
 * no restart. Undefined if there is none.
 */
export async function readSecret(
  reference: string,
  folder: string | undefined = undefined,
): Promise<string | undefined> {
  if (reference.startsWith('env:')) return process.env[reference.slice('env:'.length)]?.trim() || undefined
  if (!reference.startsWith('file:')) return undefined
  const path = reference.slice('file:'.length)
  return readFile(folder === undefined ? path : resolve(folder, path), 'utf8').then(
    (text) => text.trim() || undefined,
    () => undefined,
  )
}
