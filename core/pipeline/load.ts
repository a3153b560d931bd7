import { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { isJsonObject, type JsonObject, type Plugin } from '../contract/index.ts'

/** A line of the `plugins` list: which plugin, with which options. */
export interface PluginEntry {
  readonly use: string
  readonly options: JsonObject
}

/** The plugin that an entry names: a built-in, a file (`./…` or absolute, from `folder`), or an npm package installed there. */
export async function loadPlugin(
  entry: PluginEntry,
  builtIns: ReadonlyMap<string, Plugin>,
  folder: string,
): Promise<Plugin> {
  const builtIn = builtIns.get(entry.use)
  if (builtIn !== undefined) return builtIn
  const exported = await importDefault(entry.use, locate(entry.use, builtIns, folder))
  return readPlugin(entry.use, exported)
}

function locate(use: string, builtIns: ReadonlyMap<string, Plugin>, folder: string): string {
  if (use.startsWith('.') || path.isAbsolute(use)) return path.resolve(folder, use)
  try {
    return createRequire(path.join(folder, 'package.json')).resolve(use)
  } catch (cause) {
    const known = [...builtIns.keys()].join(', ')
    throw new Error(
      `plugin "${use}" is not a built-in (${known}) and no package of that name is installed. ` +
        `Correct the name, run "npm install ${use}", or give a path that starts with "./".`,
      { cause },
    )
  }
}

async function importDefault(use: string, file: string): Promise<unknown> {
  try {
    const module: { default?: unknown } = await import(pathToFileURL(file).href)
    return module.default
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`plugin "${use}" cannot be imported from ${file}: ${reason}`, { cause })
  }
}

function readPlugin(use: string, exported: unknown): Plugin {
  if (!isJsonObject(exported)) {
    throw new Error(`plugin "${use}" has no default export that is a plugin. Export default { name, setup }.`)
  }
  if (typeof exported.name !== 'string' || exported.name === '') {
    throw new Error(`plugin "${use}" has no name. Give its default export a "name".`)
  }
  if (typeof exported.setup !== 'function') {
    throw new Error(
      `plugin "${use}" has no setup function. Give its default export a "setup(options, host)".`,
    )
  }
  // The cast is safe as far as a program can see: what was not checked here is checked where it is used.
  return exported as unknown as Plugin
}
