import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PACKAGE_FOLDER } from '../../core/util/package-folder.ts'

/** The absolute path of a file of this package, named from the package root. */
export function shippedFile(name: string): string {
  return fileURLToPath(new URL(name, PACKAGE_FOLDER))
}

/** The version of this package. */
export function readVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(shippedFile('package.json'), 'utf8'))
  return version
}
