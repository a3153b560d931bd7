import { readFileSync } from 'node:fs'
import { isJsonObject } from '../core/contract/index.ts'
import { errorMessage } from '../core/reason.ts'
import { type Environment, keyVariable } from './environment.ts'

/** Variables that hold a key or a password, besides the keys of vendors. */
const GENERAL = ['ADMIN_KEY', 'EVENTSTORE_URL', 'REDIS_URL']

/** Every variable that may hold a secret, by settings that need not be checked yet. */
export function listSecrets(providers: unknown): readonly string[] {
  const keys = Object.entries(isJsonObject(providers) ? providers : {}).map(([id, row]) =>
    isJsonObject(row) && typeof row.key_variable === 'string' ? row.key_variable : keyVariable(id),
  )
  return [...GENERAL, ...keys]
}

/**
 * Puts the contents of files that `<NAME>_FILE` names in the place of `<NAME>`, as containers and systemd hand over secrets. What is wrong is
 * listed, without what the file holds.
 */
export function readSecretFiles(
  environment: Environment,
  names: readonly string[],
): { environment: Environment; faults: readonly string[] } {
  const faults: string[] = []
  const filled: Record<string, string | undefined> = { ...environment }
  for (const name of names) {
    const file = environment[`${name}_FILE`]
    if (!file) continue
    if (environment[name]) faults.push(`${name} and ${name}_FILE are both set: unset one`)
    else filled[name] = readSecret(name, file, faults)
  }
  return { environment: filled, faults }
}

function readSecret(name: string, file: string, faults: string[]): string | undefined {
  try {
    const secret = readFileSync(file, 'utf8').trim()
    if (/^\S+$/.test(secret)) return secret
    faults.push(`${name}_FILE must name a file with one word in it: ${file}`)
  } catch (error) {
    faults.push(`${name}_FILE cannot be read: ${errorMessage(error)}`)
  }
  return undefined
}

/** Takes secrets out of what plugins and child processes get to see. */
export function forgetSecrets(names: readonly string[]): void {
  for (const name of names) delete process.env[name]
}
