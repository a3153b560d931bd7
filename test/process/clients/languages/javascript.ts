import { cp } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  CLIENTS,
  type ClientLanguage,
  type ClientProgram,
  type InstalledFolder,
  installedFolder,
  runInstaller,
} from '../language.ts'

/** Clients among the repository's development dependencies. They run in the suite. */
const REPOSITORY_PROGRAMS = ['openai', 'anthropic']

const INSTALLED_PROGRAMS = ['ai-sdk', 'langchain', 'openai-agents']

/** The clients of JavaScript. Those that are installed run from a copy beside their `node_modules`. */
export async function javascript(): Promise<ClientLanguage> {
  const folder = await installedFolder('js', ['js/package.json', 'js/package-lock.json'])
  const programs = INSTALLED_PROGRAMS.map((name) => jsProgram(folder.path, name))
  const own = REPOSITORY_PROGRAMS.map((name) => jsProgram(path.join(CLIENTS, 'js'), name))
  return {
    name: 'js',
    whyMissing: async () => undefined,
    async install(isShort) {
      if (isShort) return
      await installPackages(folder, 'js')
      // Programs may have changed since.
      await cp(path.join(CLIENTS, 'js'), folder.path, { recursive: true })
    },
    isInstalled: (isShort) => isShort || folder.isComplete(),
    programs: (isShort) => (isShort ? own : [...own, ...programs]),
  }
}

/** Command-line clients: Codex and Claude Code. */
export async function commandLine(): Promise<ClientLanguage> {
  const folder = await installedFolder('cli', ['cli/package.json', 'cli/package-lock.json'])
  const modules = path.join(folder.path, 'node_modules')
  const claude = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`
  const programs = [
    jsProgram(path.join(CLIENTS, 'js'), 'codex', {
      CODEX_SCRIPT: path.join(modules, '@openai/codex/bin/codex.js'),
    }),
    jsProgram(path.join(CLIENTS, 'js'), 'claude-code', { CLAUDE_PROGRAM: path.join(modules, claude) }),
  ]
  return {
    name: 'cli',
    whyMissing: async () => undefined,
    install: async (isShort) => (isShort ? undefined : await installPackages(folder, 'cli')),
    isInstalled: (isShort) => isShort || folder.isComplete(),
    programs: (isShort) => (isShort ? [] : programs),
  }
}

/** TokenRouter's SDK, whose current version is in no registry: `TOKENROUTER_SDK` names a built checkout. */
export async function tokenRouter(): Promise<ClientLanguage> {
  const sdk = process.env.TOKENROUTER_SDK
  const module = pathToFileURL(path.join(sdk ?? '', 'dist/index.mjs')).href
  return {
    name: 'tokenrouter',
    whyMissing: async () =>
      sdk === undefined ? 'TOKENROUTER_SDK names no built checkout of tokenrouter/sdk-node' : undefined,
    install: async () => undefined,
    isInstalled: () => true,
    programs: (isShort) =>
      isShort ? [] : [jsProgram(path.join(CLIENTS, 'js'), 'tokenrouter', { TOKENROUTER_MODULE: module })],
  }
}

function jsProgram(folder: string, name: string, env: Readonly<Record<string, string>> = {}): ClientProgram {
  return {
    name: `js/${name}`,
    command: process.execPath,
    args: [path.join(folder, `${name}-client.mjs`)],
    env,
  }
}

/** Copies a folder of the client programs and installs what its lock file names. */
async function installPackages(folder: InstalledFolder, source: string): Promise<void> {
  await folder.fill(async (target) => {
    await cp(path.join(CLIENTS, source), target, { recursive: true })
    await runInstaller('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], target)
  })
}
