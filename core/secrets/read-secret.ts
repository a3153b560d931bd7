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

/** As `readSecret`. Rejects if there is none, with an error that names the reference. */
export async function readNeededSecret(reference: string): Promise<string> {
  const secret = await readSecret(reference)
  if (secret === undefined) throw new Error(`there is no secret at ${reference}`)
  return secret
}

/** Returns a URL, or reads the one behind a reference. Errors name the reference, and never what is there. */
export async function readSecretUrl(text: string): Promise<string> {
  if (!isSecretReference(text)) return text
  const url = await readSecret(text)
  if (url === undefined) throw new Error(`there is no URL at ${text}`)
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new Error(`what is at ${text} is not a URL`)
  return url
}

export function isSecretReference(text: string): boolean {
  return /^(env|file):/.test(text)
}
