import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { shippedFile } from '../../core/util/package-folder.ts'
import { ROOT } from './root.ts'

/** Builds the console if it is not built, which `npm test` does before the tests. */
export async function buildConsole(): Promise<void> {
  if (existsSync(shippedFile('dist/plugins/console/static/index.html'))) return
  const { build } = await import('vite')
  await build({ root: fileURLToPath(new URL('plugins/console/app', ROOT)) })
}
