// Runs command-line clients.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

/** With a prompt that names a tool, the sandbox calls it with the arguments, in so many replies. */
export function callWith(args, rounds = 1) {
  const base64 = Buffer.from(JSON.stringify(args)).toString('base64url')
  return `[[sandbox:arguments=${base64} rounds=${rounds}]]`
}

/** A command that tells how often it has run in its folder. */
export const COUNTING_COMMAND = 'echo x >> count.txt; echo run $(wc -l < count.txt)'

/** Calls `use` with a new folder, which is removed afterwards. */
export async function inFolder(use) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'signalbox-tool-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs a command without input. Resolves with its output, whatever its exit code. */
export async function runTool(command, args, { cwd, env }) {
  const { PATH, LANG } = process.env
  const options = { cwd, env: { PATH, LANG, HOME: cwd, ...env }, timeout: 120_000 }
  const run = promisify(execFile)(command, args, options)
  run.child.stdin.end()
  return await run.then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
}
