import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * The absolute path of a file of this package, named from the package root. Works from source and from
 * `dist`.
 */
export function shippedFile(name: string): string {
  const root = import.meta.url.endsWith('/dist/config/settings/shipped-files.js') ? '../../../' : '../../'
  return fileURLToPath(new URL(root + name, import.meta.url))
}

/** The version of this package. */
export function readVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(shippedFile('package.json'), 'utf8'))
  return version
}
