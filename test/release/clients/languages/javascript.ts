import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  CLIENTS,
  type ClientLanguage,
  type ClientProgram,
  type InstalledFolder,
  installedFolder,
  runInstaller,
  type Versions,
} from '../language.ts'

/** Clients among the repository's development dependencies. They run in the suite. */
const REPOSITORY_PROGRAMS = ['openai', 'anthropic']

const INSTALLED_PROGRAMS = ['openai', 'anthropic', 'ai-sdk', 'langchain', 'openai-agents']

/** Programs with libraries whose newest major version needs Node 22. */
const NODE_20_PROGRAMS = ['ai-sdk', 'langchain']

/** Of a `package.json`, the newest versions: of all majors, or of the major that is pinned. */
type Newest = 'any major' | 'same major'

/**
 * The clients of JavaScript that run with the repository's Node: those that it depends on, and the last
 * versions of others that support it.
 */
export async function javascriptForNode20(versions: Versions): Promise<ClientLanguage> {
  const folder = await packagesFolder('js-node-20', 'js/node-20', versions)
  const own = REPOSITORY_PROGRAMS.map((name) => jsProgram(path.join(CLIENTS, 'js'), name, NODE_20))
  const installed = NODE_20_PROGRAMS.map((name) => jsProgram(folder.path, name, NODE_20))
  return {
    name: 'js, Node 20',
    whyMissing: async () => undefined,
    async install(isShort) {
      if (isShort) return
      await installPackages(folder, 'js/node-20', versions, 'same major')
      await copyPrograms(folder)
    },
    isInstalled: (isShort) => isShort || folder.isComplete(),
    programs: (isShort) => (isShort ? own : [...own, ...installed]),
  }
}

const NODE_20 = { CLIENT_SUFFIX: ', Node 20' }

const IS_NODE_22 = Number.parseInt(process.versions.node, 10) >= 22

/** This process's Node, or the one of the folder if this is older than 22. */
function nodeFrom22(folder: InstalledFolder): string {
  const installed = `node_modules/node-${process.platform}-${process.arch}/bin/node`
  return IS_NODE_22 ? process.execPath : path.join(folder.path, installed)
}

/**
 * The clients of JavaScript, in versions that need Node 22. If this process has an older one, they run with
 * one from the registry, which exists for Linux.
 */
export async function javascript(versions: Versions): Promise<ClientLanguage> {
  const folder = await packagesFolder('js', 'js', versions)
  const node = nodeFrom22(folder)
  return {
    name: 'js',
    whyMissing: async () =>
      IS_NODE_22 || process.platform === 'linux' ? undefined : `Node ${process.versions.node} is too old`,
    async install(isShort) {
      if (isShort) return
      await installPackages(folder, 'js', versions, 'any major')
      await copyPrograms(folder)
    },
    isInstalled: (isShort) => isShort || folder.isComplete(),
    programs: (isShort) =>
      isShort ? [] : INSTALLED_PROGRAMS.map((name) => ({ ...jsProgram(folder.path, name), command: node })),
  }
}

/** Command-line clients: Codex and Claude Code. The MCP Inspector, which calls no models, comes with them. */
export async function commandLine(versions: Versions): Promise<ClientLanguage> {
  const folder = await packagesFolder('cli', 'cli', versions)
  const { codex, claude } = programsIn(folder)
  const programs = [
    jsProgram(path.join(CLIENTS, 'js'), 'codex', { CODEX_SCRIPT: codex }),
    jsProgram(path.join(CLIENTS, 'js'), 'claude-code', { CLAUDE_PROGRAM: claude }),
  ]
  return {
    name: 'cli',
    whyMissing: async () => undefined,
    install: async (isShort) =>
      isShort ? undefined : await installPackages(folder, 'cli', versions, 'any major'),
    isInstalled: (isShort) => isShort || folder.isComplete(),
    programs: (isShort) => (isShort ? [] : programs),
  }
}

/** The files of the command-line clients. */
export interface CommandLinePrograms {
  /** A program. */
  readonly claude: string
  /** A script of Node. */
  readonly codex: string
  /** A script that needs Node 22. */
  readonly inspector: string
  /** Node 22 or later. */
  readonly node: string
}

/** The command-line clients in the versions that the repository pins; undefined if they are not installed. */
export async function findCommandLine(): Promise<CommandLinePrograms | undefined> {
  const folder = await packagesFolder('cli', 'cli', 'pinned')
  return folder.isComplete() ? programsIn(folder) : undefined
}

function programsIn(folder: InstalledFolder): CommandLinePrograms {
  const modules = path.join(folder.path, 'node_modules')
  return {
    claude: path.join(modules, `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`),
    codex: path.join(modules, '@openai/codex/bin/codex.js'),
    inspector: path.join(modules, '@modelcontextprotocol/inspector/clients/launcher/build/index.js'),
    node: nodeFrom22(folder),
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

function packagesFolder(name: string, source: string, versions: Versions): Promise<InstalledFolder> {
  return installedFolder(name, [`${source}/package.json`, `${source}/package-lock.json`], versions)
}

/** Installs what the lock file of a folder of client programs names, or the newest versions. */
async function installPackages(
  folder: InstalledFolder,
  source: string,
  versions: Versions,
  newest: Newest,
): Promise<void> {
  const options = ['--no-audit', '--no-fund', '--ignore-scripts']
  await folder.fill(async (target) => {
    const manifest = await readFile(path.join(CLIENTS, source, 'package.json'), 'utf8')
    if (versions === 'newest') {
      await writeFile(path.join(target, 'package.json'), withNewestVersions(manifest, newest))
      return await runInstaller('npm', ['install', ...options], target)
    }
    await writeFile(path.join(target, 'package.json'), manifest)
    await cp(path.join(CLIENTS, source, 'package-lock.json'), path.join(target, 'package-lock.json'))
    await runInstaller('npm', ['ci', ...options], target)
  })
}

function withNewestVersions(manifest: string, newest: Newest): string {
  const { dependencies, ...rest } = JSON.parse(manifest) as { dependencies: Record<string, string> }
  const entries = Object.entries(dependencies).map(([name, version]) => [
    name,
    newest === 'any major' ? 'latest' : `^${version}`,
  ])
  return JSON.stringify({ ...rest, dependencies: Object.fromEntries(entries) })
}

/** Copies the programs, which may have changed since the installation, beside the installed packages. */
async function copyPrograms(folder: InstalledFolder): Promise<void> {
  const source = path.join(CLIENTS, 'js')
  const files = (await readdir(source)).filter((file) => file.endsWith('.mjs'))
  await Promise.all(files.map((file) => cp(path.join(source, file), path.join(folder.path, file))))
}
