import { existsSync, readFileSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import path, { extname } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  isJsonObject,
  type JsonObject,
  type MaybePromise,
  type Plugin,
  type PluginParts,
} from '../contract/index.ts'
import { errorSummary } from '../util/error-message.ts'
import { notePluginFile, runAsPlugin } from '../util/plugin-context.ts'
import { parsePlugin, pluginTitle } from './parse-plugin.ts'

/** An entry of the `plugins` setting. */
export interface PluginEntry {
  /** Name of a built-in plugin, name of an npm package, or path of a file. */
  readonly use: string
  readonly options: JsonObject
}

/** Built-in plugins by name. Only those that are listed are loaded. */
export type BuiltIns = ReadonlyMap<string, () => MaybePromise<Plugin>>

/** A plugin that is set up, with the result of its `setup`. */
export interface PluginStep {
  readonly plugin: Plugin
  readonly parts: PluginParts
  readonly isBuiltIn: boolean
  /** The plugin's name in error messages. */
  readonly title: string
}

/**
 * Loads the plugin of an entry: a built-in, a file (`./…` or absolute), or an npm package. Relative paths
 * and packages are resolved from `folder`. Rejects with an error that names the plugin and says how to fix
 * it.
 */
export async function loadPlugin({ use }: PluginEntry, builtIns: BuiltIns, folder: string): Promise<Plugin> {
  return builtIns.get(use)?.() ?? loadPackage(use, [...builtIns.keys()], folder)
}

/** Like `loadPlugin`, for plugins that are not built in. `builtIns` are names for the error message. */
export async function loadPackage(use: string, builtIns: readonly string[], folder: string): Promise<Plugin> {
  const file = locatePlugin(use, builtIns, folder)
  registerSelfResolution()
  return parsePlugin(use, await importDefault(use, file))
}

function locatePlugin(use: string, builtIns: readonly string[], folder: string): string {
  if (!use.startsWith('.') && !path.isAbsolute(use)) return locatePackage(use, builtIns, folder)
  const file = path.resolve(folder, use)
  if (existsSync(file)) return file
  throw new Error(`plugin "${use}" cannot be imported: the file ${file} does not exist. Correct the path.`)
}

function locatePackage(use: string, builtIns: readonly string[], folder: string): string {
  let file: string | undefined
  try {
    file = findPackage(use, folder)
  } catch (cause) {
    throw importError(`plugin "${use}" cannot be imported`, cause)
  }
  if (file !== undefined) return file
  throw new Error(
    `plugin "${use}" is not a built-in (${builtIns.join(', ')}) and no package of that name is installed. ` +
      `Correct the name, run "npm install ${use}", or give a path that starts with "./".`,
  )
}

async function importDefault(use: string, file: string): Promise<unknown> {
  try {
    const { href } = pathToFileURL(file)
    notePluginFile(file, pluginTitle(use, use))
    const module: { default?: unknown } = await runAsPlugin(pluginTitle(use, use), () => import(href))
    return module.default
  } catch (cause) {
    throw importError(`plugin "${use}" cannot be imported from ${file}`, cause)
  }
}

function importError(message: string, cause: unknown): Error {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  const fix =
    code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
      ? 'Install its missing dependencies with npm.'
      : 'Install a version that works, or remove it from the list.'
  return new Error(`${message}: ${errorSummary(cause)}. ${fix}`, { cause })
}

/**
 * Returns the file that `import 'specifier'` would load from a folder; undefined if the package is not
 * installed there. Throws if the package does not export the specifier. Node resolves imports only relative
 * to the importing module, and `require.resolve` ignores exports that are for `import` only.
 */
export function findPackage(specifier: string, folder: string): string | undefined {
  const parts = specifier.split('/')
  const name = parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/')
  const require = createRequire(path.join(folder, 'package.json'))
  const packageFolder = (require.resolve.paths(specifier) ?? [])
    .map((nodeModules) => path.join(nodeModules, name))
    .find((candidate) => existsSync(path.join(candidate, 'package.json')))
  if (packageFolder === undefined) return undefined
  const manifest: unknown = JSON.parse(readFileSync(path.join(packageFolder, 'package.json'), 'utf8'))
  const file = isJsonObject(manifest)
    ? findExport(manifest.exports, `.${specifier.slice(name.length)}`)
    : undefined
  return file === undefined ? require.resolve(specifier) : path.join(packageFolder, file)
}

/** Resolves an entry of an `exports` map for `import`. Does not support patterns. */
function findExport(exports: unknown, entry: string): string | undefined {
  if (isJsonObject(exports) && Object.keys(exports).some((key) => key.startsWith('.')))
    return resolveConditions(exports[entry])
  return entry === '.' ? resolveConditions(exports) : undefined
}

const IMPORT_CONDITIONS = ['node', 'import', 'module-sync', 'node-addons', 'default']

/** Returns the target of the first condition that applies, in the order of the map. */
function resolveConditions(target: unknown): string | undefined {
  if (typeof target === 'string') return target
  if (Array.isArray(target)) return target.map(resolveConditions).find((file) => file !== undefined)
  if (!isJsonObject(target)) return undefined
  for (const [condition, value] of Object.entries(target)) {
    const file = IMPORT_CONDITIONS.includes(condition) ? resolveConditions(value) : undefined
    if (file !== undefined) return file
  }
  return undefined
}

let isSelfResolutionRegistered = false

/**
 * Makes `import 'signalbox'` resolve to this running instance in the whole process. Plugin packages need no
 * copy of Signalbox, wherever they and the gateway are installed. See docs/decisions/plugins.md, "import
 * 'signalbox' resolves to the running gateway".
 */
function registerSelfResolution(): void {
  if (isSelfResolutionRegistered) return
  isSelfResolutionRegistered = true
  const url = new URL(`../contract/index${extname(import.meta.url)}`, import.meta.url).href
  const resolution = { url, format: 'module', shortCircuit: true }
  if (hasSyncHooks(module)) {
    module.registerHooks({
      resolve: (specifier, context, next) =>
        specifier === 'signalbox' ? resolution : next(specifier, context),
    })
    return
  }
  const hook = `export const resolve = (specifier, context, next) =>
    specifier === 'signalbox' ? ${JSON.stringify(resolution)} : next(specifier, context)`
  module.register(`data:text/javascript,${encodeURIComponent(hook)}`)
}

/** Hooks of Node 22.15 and later. They also apply to `require`. */
interface SyncHooks {
  registerHooks(_hooks: {
    resolve(
      specifier: string,
      context: unknown,
      next: (specifier: string, context: unknown) => unknown,
    ): unknown
  }): void
}

function hasSyncHooks(loader: object): loader is SyncHooks {
  return 'registerHooks' in loader
}
