import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** `.js` where `npm test` runs the compiled tests, `.ts` where mocha runs the source with tsx. */
const EXTENSION = extname(import.meta.url)

const CODE = new URL('../../', import.meta.url)

/** The repository's root folder, as a URL that ends with `/`. */
export const ROOT = EXTENSION === '.js' ? new URL('../', CODE) : CODE

/** The program as users start it: `npm run build` and `npm test` bundle it. */
export const PROGRAM = fileURLToPath(new URL('dist/program/main.js', ROOT))

/** Node's options for a process that imports modules of this repository. */
export const NODE_OPTIONS: readonly string[] = EXTENSION === '.js' ? [] : ['--import', 'tsx']

/** The URL of a module, by its path from the root without extension. */
export function moduleUrl(name: string): URL {
  return new URL(name + EXTENSION, CODE)
}

/** Node's arguments that run a module, by its path from the root without extension. */
export function nodeArguments(module: string): string[] {
  return [...NODE_OPTIONS, fileURLToPath(moduleUrl(module))]
}
