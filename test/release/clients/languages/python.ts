import path from 'node:path'
import {
  CLIENTS,
  type ClientLanguage,
  type InstalledFolder,
  installedFolder,
  runInstaller,
  type Versions,
  whyNoCommand,
} from '../language.ts'

/** By program: the file with its requirements. Not all clients run with the same version of `openai`. */
const REQUIREMENTS: Readonly<Record<string, string>> = {
  openai: 'current',
  anthropic: 'current',
  'openai-agents': 'current',
  langchain: 'current',
  'pydantic-ai': 'current',
  instructor: 'instructor',
  litellm: 'openai-2',
  'llama-index': 'openai-2',
}

/** The same for the programs that the suite runs: fewer packages, which are quicker to install. */
const SHORT_REQUIREMENTS: Readonly<Record<string, string>> = { openai: 'short', anthropic: 'short' }

/** The clients of Python, in virtual environments. */
export async function python(versions: Versions): Promise<ClientLanguage> {
  const names = new Set([REQUIREMENTS, SHORT_REQUIREMENTS].flatMap((table) => Object.values(table)))
  const environments = new Map<string, InstalledFolder>()
  for (const name of names) {
    const files = [requirementsFile(name, 'pinned')]
    environments.set(name, await installedFolder(`python-${name}`, files, versions))
  }
  const requirementsFor = (isShort: boolean) => (isShort ? SHORT_REQUIREMENTS : REQUIREMENTS)
  const environmentsFor = (isShort: boolean) =>
    [...environments].filter(([name]) => Object.values(requirementsFor(isShort)).includes(name))
  return {
    name: 'python',
    whyMissing: () => whyNoCommand('python3', ['-m', 'venv', '--help']),
    async install(isShort) {
      for (const [name, environment] of environmentsFor(isShort)) {
        await environment.fill((folder) => installInto(folder, requirementsFile(name, versions)))
      }
    },
    isInstalled: (isShort) => environmentsFor(isShort).every(([, environment]) => environment.isComplete()),
    programs: (isShort) =>
      Object.entries(requirementsFor(isShort)).map(([name, requirements]) => ({
        name: `python/${name}`,
        command: path.join(environments.get(requirements)?.path ?? '', 'bin/python'),
        args: [path.join(CLIENTS, `python/${name.replaceAll('-', '_')}_client.py`)],
        env: { PYTHONDONTWRITEBYTECODE: '1' },
      })),
  }
}

/** The file with all packages of an environment and their versions, or with what programs import. */
function requirementsFile(name: string, versions: Versions): string {
  return `python/requirements/${name}.${versions === 'newest' ? 'in' : 'txt'}`
}

async function installInto(folder: string, requirements: string): Promise<void> {
  await runInstaller('python3', ['-m', 'venv', folder], CLIENTS)
  const quiet = ['--quiet', '--no-input', '--disable-pip-version-check']
  const file = path.join(CLIENTS, requirements)
  await runInstaller(path.join(folder, 'bin/pip'), ['install', ...quiet, '-r', file], CLIENTS)
}
