import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * The folder of this package's `package.json`. Modules run from the source, compiled in `dist`, or bundled in
 * `dist/program`.
 */
export const PACKAGE_FOLDER = new URL(
  import.meta.url.replace(/(?:dist\/(?:program\/)?)?core\/util\/package-folder\.[jt]s$/, ''),
)

/** The absolute path of a file of this package, named from the package root. */
export function shippedFile(name: string): string {
  return fileURLToPath(new URL(name, PACKAGE_FOLDER))
}

/** The version of this package. */
export function readVersion(): string {
  const { version }: { version: string } = JSON.parse(readFileSync(shippedFile('package.json'), 'utf8'))
  return version
}
