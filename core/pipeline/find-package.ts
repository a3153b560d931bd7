import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { isJsonObject } from '../contract/index.ts'

/**
 * The file that `import 'name'` would load in a folder; undefined when no such package is installed there. Node itself answers this
 * only for the module that asks, and `require.resolve` does not see what a package exports to `import` alone.
 */
export function findPackage(specifier: string, folder: string): string | undefined {
  const parts = specifier.split('/')
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
  const require = createRequire(path.join(folder, 'package.json'))
  const home = (require.resolve.paths(specifier) ?? [])
    .map((place) => path.join(place, name))
    .find((place) => existsSync(path.join(place, 'package.json')))
  if (home === undefined) return undefined
  const manifest: unknown = JSON.parse(readFileSync(path.join(home, 'package.json'), 'utf8'))
  const entry = isJsonObject(manifest)
    ? findExport(manifest.exports, `.${specifier.slice(name.length)}`)
    : undefined
  return entry === undefined ? require.resolve(specifier) : path.join(home, entry)
}

/** What an `exports` map gives to `import`, for an entry without patterns. */
function findExport(exported: unknown, entry: string): string | undefined {
  if (isJsonObject(exported) && Object.keys(exported).some((key) => key.startsWith('.')))
    return pick(exported[entry])
  return entry === '.' ? pick(exported) : undefined
}

const CONDITIONS = ['node', 'import', 'module-sync', 'node-addons', 'default']

/** The first condition that holds, in the map's own order, decides. */
function pick(target: unknown): string | undefined {
  if (typeof target === 'string') return target
  if (Array.isArray(target)) return target.map(pick).find((found) => found !== undefined)
  if (!isJsonObject(target)) return undefined
  for (const [condition, value] of Object.entries(target)) {
    const found = CONDITIONS.includes(condition) ? pick(value) : undefined
    if (found !== undefined) return found
  }
  return undefined
}
