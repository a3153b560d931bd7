import { existsSync, readFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import path, { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isJsonObject, type JsonObject, type Plugin } from '../contract/index.ts'
import { errorSummary } from '../util/error-message.ts'
import { parsePlugin } from './parse-plugin.ts'

/** A line of the `plugins` list: which plugin, with which options. */
export interface PluginEntry {
  readonly use: string
  readonly options: JsonObject
}

/** The plugin that an entry names: a built-in, a file (`./…` or absolute, from `folder`), or an npm package installed there. */
export async function loadPlugin(
  { use }: PluginEntry,
  builtIns: ReadonlyMap<string, Plugin>,
  folder: string,
): Promise<Plugin> {
  return builtIns.get(use) ?? loadPackage(use, [...builtIns.keys()], folder)
}

/** As `loadPlugin`, for one that is no built-in. */
export async function loadPackage(use: string, builtIns: readonly string[], folder: string): Promise<Plugin> {
  const file = locate(use, builtIns, folder)
  registerSelfResolution()
  return parsePlugin(use, await importDefault(use, file))
}

function locate(use: string, builtIns: readonly string[], folder: string): string {
  if (!use.startsWith('.') && !path.isAbsolute(use)) return locatePackage(use, builtIns, folder)
  const file = path.resolve(folder, use)
  if (existsSync(file)) return file
  throw new Error(`plugin "${use}" cannot be imported: there is no file ${file}. Correct the path.`)
}

function locatePackage(use: string, builtIns: readonly string[], folder: string): string {
  let file: string | undefined
  try {
    file = findPackage(use, folder)
  } catch (cause) {
    throw new Error(`plugin "${use}" cannot be imported: ${errorSummary(cause)}. ${mendOf(cause)}`, { cause })
  }
  if (file !== undefined) return file
  throw new Error(
    `plugin "${use}" is not a built-in (${builtIns.join(', ')}) and no package of that name is installed. ` +
      `Correct the name, run "npm install ${use}", or give a path that starts with "./".`,
  )
}

async function importDefault(use: string, file: string): Promise<unknown> {
  try {
    const module: { default?: unknown } = await import(pathToFileURL(file).href)
    return module.default
  } catch (cause) {
    const reason = errorSummary(cause)
    throw new Error(`plugin "${use}" cannot be imported from ${file}: ${reason}. ${mendOf(cause)}`, { cause })
  }
}

function mendOf(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
    ? 'Install what it needs beside it with npm.'
    : 'Install a version that can be, or take it off the list.'
}

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

/** Node 22.15 and later; there it also serves `require`. */
interface SyncHooks {
  registerHooks(_hooks: {
    resolve(
      specifier: string,
      context: unknown,
      next: (specifier: string, context: unknown) => unknown,
    ): unknown
  }): void
}

let isLent = false

/**
 * From now on `import 'signalbox'` gives this very instance to whoever asks in this process. A plugin package needs no copy beside it
 * then, wherever it and the gateway are installed.
 */
function registerSelfResolution(): void {
  if (isLent) return
  isLent = true
  const url = new URL(`../contract/index${extname(import.meta.url)}`, import.meta.url).href
  const own = { url, format: 'module', shortCircuit: true }
  if (hasSyncHooks(module)) {
    module.registerHooks({
      resolve: (specifier, context, next) => (specifier === 'signalbox' ? own : next(specifier, context)),
    })
    return
  }
  const hook = `export const resolve = (specifier, context, next) =>
    specifier === 'signalbox' ? ${JSON.stringify(own)} : next(specifier, context)`
  module.register(`data:text/javascript,${encodeURIComponent(hook)}`)
}

function hasSyncHooks(loader: object): loader is SyncHooks {
  return 'registerHooks' in loader
}
