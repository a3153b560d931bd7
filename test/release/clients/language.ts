import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ROOT } from '../../support/root.ts'

/** One program: a client library or tool, which runs its cases and prints a line of JSON for each. */
export interface ClientProgram {
  /** For example `python/openai`. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

/** A language with its client programs. */
export interface ClientLanguage {
  readonly name: string
  /** Why the language cannot run on this machine; undefined if it can. */
  whyMissing(): Promise<string | undefined>
  /** Installs what the programs require into the cache folder. */
  install(isShort: boolean): Promise<void>
  isInstalled(isShort: boolean): boolean
  /** All programs; in the short form, those that the suite runs, which may be none. */
  programs(isShort: boolean): readonly ClientProgram[]
}

/** The folder of the client programs in this repository, also for compiled tests. */
export const CLIENTS = fileURLToPath(new URL('test/release/clients', ROOT))

/** Installed requirements stand here, outside the repository; `CLIENTS_CACHE` names another folder. */
const CACHE = process.env.CLIENTS_CACHE ?? path.join(os.tmpdir(), 'signalbox-clients')

/** The versions to install: those that the repository pins, or the newest of each registry. */
export type Versions = 'pinned' | 'newest'

/** A folder in the cache that belongs to the contents of the files, which pin versions. */
export interface InstalledFolder {
  readonly path: string
  isComplete(): boolean
  /** Calls `install` with the empty folder, unless that has succeeded before. */
  fill(install: (folder: string) => Promise<unknown>): Promise<void>
}

/**
 * The folder for a set of requirements. Changed files lead to another folder. The folder of the newest
 * versions is filled anew by every process, because registries change.
 */
export async function installedFolder(
  name: string,
  files: readonly string[],
  versions: Versions,
): Promise<InstalledFolder> {
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(path.join(CLIENTS, file)))
  const version = versions === 'newest' ? versions : hash.digest('hex').slice(0, 12)
  const folder = path.join(CACHE, `${name}-${version}`)
  const marker = path.join(folder, '.complete')
  let isFilled = false
  const isComplete = () => existsSync(marker) && (versions === 'pinned' || isFilled)
  return {
    path: folder,
    isComplete,
    async fill(install) {
      if (isComplete()) return
      await rm(folder, { recursive: true, force: true })
      await mkdir(folder, { recursive: true })
      await install(folder)
      await writeFile(marker, '')
      isFilled = true
    },
  }
}

const execute = promisify(execFile)

/** Runs a command of an installation. Rejects with its output if it fails. */
export async function runInstaller(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  await execute(command, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 })
}

/** Why a command cannot run; undefined if it can. For example `whyNoCommand('go', ['version'])`. */
export async function whyNoCommand(command: string, args: readonly string[]): Promise<string | undefined> {
  return await execute(command, args).then(
    () => undefined,
    (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? `${command} is not installed` : `${command} ${args.join(' ')} fails`,
  )
}
