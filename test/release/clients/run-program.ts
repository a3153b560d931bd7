import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { ClientProgram } from './language.ts'

/** A line that a program prints. */
export interface CaseResult {
  readonly client: string
  readonly feature: string
  /** For cases that run with several models. */
  readonly model?: string
  readonly ok: boolean
  readonly detail?: string
  /** The reason. Not a pass: `ok` is ignored. */
  readonly skipped?: string
}

/** What programs call, and with what. */
export interface CalledGateway {
  readonly url: string
  readonly key: string
  /** One model of each provider to run the cases with. */
  readonly models: readonly string[]
}

const TIMEOUT_MS = 10 * 60_000

/** Runs one program to its end. A program that fails, or prints no case, is a failed case itself. */
export async function runProgram(
  program: ClientProgram,
  { url, key, models }: CalledGateway,
): Promise<readonly CaseResult[]> {
  const { PATH, HOME, TMPDIR, LANG } = process.env
  const env = {
    ...{ PATH, HOME, LANG, ...(TMPDIR && { TMPDIR }) },
    ...{ BASE_URL: url, API_KEY: key, MODELS: models.join(',') },
    ...program.env,
  }
  const options = { env, cwd: program.cwd, timeout: TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 }
  const { code, stdout, stderr } = await promisify(execFile)(program.command, program.args, options).then(
    (output) => ({ ...output, code: 0 as unknown }),
    (error: { code: unknown; stdout?: string; stderr?: string }) => ({ stdout: '', stderr: '', ...error }),
  )
  const results = stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as CaseResult)
  if (code === 0 && results.length > 0) return results
  const detail = `exit code ${code}: ${stderr.trim().slice(-1500)}`
  return [...results, { client: program.name, feature: 'program', ok: false, detail }]
}
