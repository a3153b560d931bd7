import { readFileSync } from 'node:fs'
import { shippedFile } from '../../core/util/package-folder.ts'

/** The version of this package. */
export function readVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(shippedFile('package.json'), 'utf8'))
  return version
}

export { shippedFile }
