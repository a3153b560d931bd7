import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DEFAULT_PLUGIN_NAMES } from '../../config/settings/built-in-names.ts'
import { makeFolder } from './folders.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { ROOT } from './root.ts'
import { UNLIMITED } from './settings.ts'

/** The plugins of the shipped list in an order that works. */
export const BUILT_IN = DEFAULT_PLUGIN_NAMES

/** A settings file in the folder with this list of plugins, for `CONFIG`. */
export async function listPlugins(
  folder: string,
  plugins: readonly unknown[] | { readonly add: readonly unknown[] },
  settings = '',
): Promise<string> {
  const file = path.join(folder, 'settings.yaml')
  await writeFile(
    file,
    `${settings.includes('rate_limits:') ? '' : UNLIMITED}${settings}plugins: ${JSON.stringify(plugins)}\n`,
  )
  return file
}

/** A package in the folder's node_modules, as npm would put it there. */
export async function installPackage(
  folder: string,
  name: string,
  source: string,
  manifest: object = {},
): Promise<string> {
  const home = path.join(folder, 'node_modules', name)
  await mkdir(home, { recursive: true })
  const whole = { name, version: '1.0.0', type: 'module', exports: './index.js', ...manifest }
  await writeFile(path.join(home, 'package.json'), JSON.stringify(whole))
  await writeFile(path.join(home, 'index.js'), source)
  return home
}

/** Packages by name, and files where the name ends in `.mjs`: all in a new folder. */
export async function installAll(sources: Readonly<Record<string, string>>): Promise<string> {
  const folder = await makeFolder()
  for (const [name, source] of Object.entries(sources)) {
    if (name.endsWith('.mjs')) await writeFile(path.join(folder, name), source)
    else await installPackage(folder, name, source)
  }
  return folder
}

/** Starts a gateway with these packages, and with this list of plugins as `listPlugins` takes it. */
export async function startWithPlugins(
  sources: Readonly<Record<string, string>>,
  plugins: readonly unknown[] | { readonly add: readonly unknown[] },
  settings = '',
  environment: Readonly<Record<string, string>> = {},
): Promise<RunningGateway> {
  const pluginFolder = await installAll(sources)
  const CONFIG = await listPlugins(pluginFolder, plugins, settings)
  return startGateway({ ...environment, CONFIG }, { pluginFolder })
}

/** A project in which npm has installed example packages. Returns its folder. */
export async function installExamples(names: readonly string[]): Promise<string> {
  const folder = await makeFolder()
  await writeFile(path.join(folder, 'package.json'), '{"name":"a-gateway","version":"1.0.0","private":true}')
  const packages = names.map((name) => fileURLToPath(new URL(`test/fixtures/packages/${name}`, ROOT)))
  const flags = ['--offline', '--no-audit', '--no-fund']
  await promisify(execFile)('npm', ['install', ...flags, ...packages], { cwd: folder })
  return folder
}
