import { cp } from 'node:fs/promises'
import path from 'node:path'
import {
  CLIENTS,
  type ClientLanguage,
  type ClientProgram,
  installedFolder,
  runInstaller,
} from '../language.ts'

/** Clients among the repository's development dependencies. They run in the suite. */
const REPOSITORY_PROGRAMS = ['openai']

const INSTALLED_PROGRAMS: readonly string[] = []

/** The clients of JavaScript. Those that are installed run from a copy beside their `node_modules`. */
export async function javascript(): Promise<ClientLanguage> {
  const folder = await installedFolder('js', ['js/package.json', 'js/package-lock.json'])
  const programIn = (place: string, name: string): ClientProgram => ({
    name: `js/${name}`,
    command: process.execPath,
    args: [path.join(place, `${name}-client.mjs`)],
  })
  const own = REPOSITORY_PROGRAMS.map((name) => programIn(path.join(CLIENTS, 'js'), name))
  return {
    name: 'js',
    whyMissing: async () => undefined,
    async install(isShort) {
      if (isShort) return
      await folder.fill(async (target) => {
        await cp(path.join(CLIENTS, 'js'), target, { recursive: true })
        await runInstaller('npm', ['ci', '--no-audit', '--no-fund'], target)
      })
      await cp(path.join(CLIENTS, 'js'), folder.path, { recursive: true })
    },
    isInstalled: (isShort) => isShort || folder.isComplete(),
    programs: (isShort) =>
      isShort ? own : [...own, ...INSTALLED_PROGRAMS.map((name) => programIn(folder.path, name))],
  }
}
