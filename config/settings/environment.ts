import { readFileSync } from 'node:fs'
import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Variables and the settings they set; `to` of a number is the greatest that may be. */
const VARIABLES = [
  { variable: 'HOST', setting: 'host' },
  { variable: 'PORT', setting: 'port', from: 0, to: 65535 },
  { variable: 'ROUTE_PORT', setting: 'route_port', from: 0, to: 65535 },
  { variable: 'WORKERS', setting: 'workers', from: 1, to: 128 },
  { variable: 'DATA_DIR', setting: 'data_dir' },
  { variable: 'EVENTSTORE_URL', setting: 'eventstore_url' },
  { variable: 'REDIS_URL', setting: 'redis_url' },
  { variable: 'METRICS_PORT', setting: 'metrics_port', from: 0, to: 65535 },
  { variable: 'ADMIN_KEY', setting: 'admin_key' },
  { variable: 'LOG_LEVEL', setting: 'log_level' },
] as const

/** Every variable that sets something, besides CONFIG and those of the providers. */
export const VARIABLE_NAMES: readonly string[] = VARIABLES.map(({ variable }) => variable)

/** Puts the environment over the settings, and lists what is wrong with it. An empty variable counts as not set. */
export function readEnvironment(
  settings: JsonObject,
  environment: Environment,
): { settings: JsonObject; faults: readonly string[] } {
  const faults: string[] = []
  const changed: Record<string, unknown> = { ...settings }
  for (const { variable, setting, ...range } of VARIABLES) {
    const text = environment[variable]
    if (!text) continue
    const fault = 'to' in range ? findFault(text, range) : undefined
    if (fault !== undefined) faults.push(`${variable} ${fault}`)
    else changed[setting] = 'to' in range ? Number(text) : text
  }
  if (isJsonObject(settings.providers)) changed.providers = withBaseUrls(settings.providers, environment)
  return { settings: changed, faults }
}

/** Where a provider's key is when its row does not say. */
export function keyVariable(provider: string): string {
  return `${variablePrefix(provider)}_API_KEY`
}

/** `OPENAI` for the provider `openai`: the start of its environment variables. */
function variablePrefix(provider: string): string {
  return provider.toUpperCase().replaceAll('-', '_')
}

function withBaseUrls(providers: JsonObject, environment: Environment): JsonObject {
  const rows = Object.entries(providers).map(([id, row]) => {
    const base_url = environment[`${variablePrefix(id)}_BASE_URL`]
    return [id, base_url && isJsonObject(row) ? { ...row, base_url } : row]
  })
  return Object.fromEntries(rows)
}

interface Range {
  readonly from: number
  readonly to: number
}

function findFault(text: string, { from, to }: Range): string | undefined {
  if (/^\d{1,5}$/.test(text) && Number(text) >= from && Number(text) <= to) return undefined
  return `must be an integer from ${from} to ${to}, not "${text}"`
}

/** Variables that hold a key or a password, besides the keys of providers. */
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
