import { spawnSync } from 'node:child_process'

/** Why Python scripts that import the modules cannot run here; undefined if they can. */
export function whyNoPython(modules: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync('python3', ['-c', `import ${modules.join(', ')}`])
  if (error) return 'python3 is not installed'
  return status === 0 ? undefined : String(stderr).trim().split('\n').at(-1)
}

/** Runs a script with arguments. Returns its exit code and output. */
export function runPython(file: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync('python3', [file, ...args], { encoding: 'utf8' })
  return { code: status, stdout, stderr }
}
