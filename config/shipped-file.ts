import { fileURLToPath } from 'node:url'

/** The path of a file that is shipped beside the code, given from the package's root; the same from source and from `dist`. */
export function shippedFile(name: string): string {
  const root = import.meta.url.endsWith('/dist/config/shipped-file.js') ? '../../' : '../'
  return fileURLToPath(new URL(root + name, import.meta.url))
}
