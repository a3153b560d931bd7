import { execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ROOT } from './root.ts'

/** What `.ci/python` installs has the libraries of clouds. */
const INSTALLED = fileURLToPath(new URL('node_modules/.cache/python/bin/python', ROOT))

const PYTHON = existsSync(INSTALLED) ? INSTALLED : 'python3'

/** Why Python scripts that import the modules cannot run here; undefined if they can. */
export function whyNoPython(modules: readonly string[], python = 'python3'): string | undefined {
  const { status, stderr, error } = spawnSync(python, ['-c', `import ${modules.join(', ')}`])
  if (error) return 'python3 is not installed'
  return status === 0 ? undefined : String(stderr).trim().split('\n').at(-1)
}

/** Runs a script with arguments. Returns its exit code and output. */
export function runPython(file: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync('python3', [file, ...args], { encoding: 'utf8' })
  return { code: status, stdout, stderr }
}

/** As `whyNoPython`, for the libraries that `.ci/python` installs. */
export function whyNoCloudLibrary(module: 'botocore' | 'google.auth' | 'moto' | 'msal'): string | undefined {
  return whyNoPython([module], PYTHON)
}

/** Starts a program of the libraries that `.ci/python` installs. */
export function spawnPython(args: readonly string[]) {
  return spawn(PYTHON, args, { stdio: ['ignore', 'pipe', 'pipe'] })
}

/**
 * Runs a script that uses the library of a cloud, while servers of this process answer it. Resolves with the
 * JSON that it prints. Rejects if it fails.
 */
export async function runCloudLibrary(
  script: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  // biome-ignore lint/suspicious/noExplicitAny: assertions read fields of any output
): Promise<any> {
  const env = { ...process.env, ...environment }
  const { stdout } = await promisify(execFile)(PYTHON, ['-c', script, ...args], { env })
  return JSON.parse(stdout)
}
