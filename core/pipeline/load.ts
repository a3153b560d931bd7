import { existsSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { JsonObject, Plugin } from '../contract/index.ts'
import { errorSummary } from '../reason.ts'
import { findPackage } from './find-package.ts'
import { registerSelfResolution } from './lend-signalbox.ts'
import { readPlugin } from './read-plugin.ts'

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
  return readPlugin(use, await importDefault(use, file))
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
