import { readFileSync } from 'node:fs'
import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Environment variables and the settings that they override. Numbers have an inclusive range. */
const VARIABLES = [
  { variable: 'HOST', setting: 'host' },
  { variable: 'PORT', setting: 'port', min: 0, max: 65535 },
  { variable: 'ROUTE_PORT', setting: 'route_port', min: 0, max: 65535 },
  { variable: 'WORKERS', setting: 'workers', min: 1, max: 128 },
  { variable: 'DATA_DIR', setting: 'data_dir' },
  { variable: 'EVENTSTORE_URL', setting: 'eventstore_url' },
  { variable: 'REDIS_URL', setting: 'redis_url' },
  { variable: 'LEDGER_URL', setting: 'ledger_url' },
  { variable: 'METRICS_PORT', setting: 'metrics_port', min: 0, max: 65535 },
  { variable: 'ADMIN_KEY', setting: 'admin_key' },
  { variable: 'GUARDRAIL_SECRET', setting: 'guardrail_secret' },
  { variable: 'AUDIT_EXPORT_SECRET', setting: 'audit_export_secret' },
  { variable: 'APPROVAL_SECRET', setting: 'approval_secret' },
  { variable: 'ALERT_SECRET', setting: 'alert_secret' },
  { variable: 'LEDGER_EXPORT_SECRET', setting: 'ledger_export_secret' },
  { variable: 'SMTP_PASSWORD', setting: 'smtp_password' },
  { variable: 'OIDC_CLIENT_SECRET', setting: 'oidc_client_secret' },
  { variable: 'RECORD_KEY', setting: 'record_key' },
  { variable: 'FEATURES_KEY', setting: 'features_key' },
  { variable: 'LOG_LEVEL', setting: 'log_level' },
] as const

/** All variables that override a setting, except CONFIG and those of providers. */
export const VARIABLE_NAMES: readonly string[] = VARIABLES.map(({ variable }) => variable)

/**
 * Overrides settings by environment variables. An empty variable counts as not set. Returns issues with the
 * variables.
 */
export function applyEnvironment(
  settings: JsonObject,
  environment: Environment,
): { settings: JsonObject; issues: readonly string[] } {
  const issues: string[] = []
  const overridden: Record<string, unknown> = { ...settings }
  for (const { variable, setting, ...range } of VARIABLES) {
    const text = environment[variable]
    if (!text) continue
    const issue = 'max' in range ? findNumberIssue(text, range) : undefined
    if (issue !== undefined) issues.push(`${variable} ${issue}`)
    else overridden[setting] = 'max' in range ? Number(text) : text
  }
  if (isJsonObject(settings.providers))
    overridden.providers = overrideBaseUrls(settings.providers, environment)
  return { settings: overridden, issues }
}

/** The environment variable that holds the key of a provider unless its `key_variable` names another. */
export function defaultKeyVariable(provider: string): string {
  return `${variablePrefix(provider)}_API_KEY`
}

/** The prefix of the environment variables of a provider: `OPENAI` for `openai`. */
function variablePrefix(provider: string): string {
  return provider.toUpperCase().replaceAll('-', '_')
}

function overrideBaseUrls(providers: JsonObject, environment: Environment): JsonObject {
  const rows = Object.entries(providers).map(([id, row]) => {
    const base_url = environment[`${variablePrefix(id)}_BASE_URL`]
    return [id, base_url && isJsonObject(row) ? { ...row, base_url } : row]
  })
  return Object.fromEntries(rows)
}

interface NumberRange {
  readonly min: number
  readonly max: number
}

function findNumberIssue(text: string, { min, max }: NumberRange): string | undefined {
  if (/^\d{1,5}$/.test(text) && Number(text) >= min && Number(text) <= max) return undefined
  return `must be an integer from ${min} to ${max}, not "${text}"`
}

/** Variables that hold a key or a password, besides the keys of providers. */
const SECRET_VARIABLES: readonly string[] = [
  'ADMIN_KEY',
  'ALERT_SECRET',
  'APPROVAL_SECRET',
  'AUDIT_EXPORT_SECRET',
  'EVENTSTORE_URL',
  'FEATURES_KEY',
  'GUARDRAIL_SECRET',
  'LEDGER_EXPORT_SECRET',
  'LEDGER_URL',
  'OIDC_CLIENT_SECRET',
  'RECORD_KEY',
  'REDIS_URL',
  'SMTP_PASSWORD',
]

/** Whether a setting is a key or a password, or an address that may contain one. */
export function isSecretSetting(name: string): boolean {
  return VARIABLES.some(({ variable, setting }) => setting === name && SECRET_VARIABLES.includes(variable))
}

/** The environment variable that overrides a setting; undefined if there is none. */
export function variableOfSetting(path: readonly string[]): string | undefined {
  const [section, provider = '', field] = path
  if (section === 'providers' && field === 'base_url' && path.length === 3)
    return `${variablePrefix(provider)}_BASE_URL`
  return VARIABLES.find(({ setting }) => setting === path.join('.'))?.variable
}

/**
 * Lists the secrets of the settings: keys, and the passwords of addresses. They are removed from what
 * providers say.
 */
export function listSecrets(settings: JsonObject): readonly string[] {
  const { providers } = settings
  const rows = Object.values(isJsonObject(providers) ? providers : {}).filter(isJsonObject)
  const ours = VARIABLES.filter(({ variable }) => SECRET_VARIABLES.includes(variable))
  const values = [
    ...ours.map(({ setting }) => settings[setting]),
    ...[...rows, ...rows.flatMap(listDeployments)].flatMap(({ api_key, client_secret, base_url }) => [
      api_key,
      client_secret,
      passwordOf(base_url),
    ]),
  ]
  return values.flatMap((value) => (isAddress(value) ? passwordOf(value) : value)).filter(isText)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isAddress(value: unknown): boolean {
  return isText(value) && value.includes('://')
}

/** The password of an address, such as that of Redis or EventStoreDB. */
function passwordOf(address: unknown): string | undefined {
  const [, password] = /^[^/]+:\/\/[^/?#@]*?:([^/?#]+)@/.exec(String(address)) ?? []
  try {
    return password && decodeURIComponent(password)
  } catch {
    return password
  }
}

/** Lists all variables that may hold a secret. `providers` is not validated yet. */
export function listSecretVariables(providers: unknown): readonly string[] {
  const keys = Object.entries(isJsonObject(providers) ? providers : {}).flatMap(([id, row]) => {
    const { key_variable, client_secret_variable } = isJsonObject(row) ? row : {}
    const ofDeployments = isJsonObject(row) ? listDeployments(row).map(({ key }) => key) : []
    return [key_variable ?? defaultKeyVariable(id), client_secret_variable, ...ofDeployments].filter(isText)
  })
  return [...SECRET_VARIABLES, ...keys]
}

/** The deployments of a row that is not validated yet. */
function listDeployments({ deployments }: JsonObject): readonly JsonObject[] {
  return Array.isArray(deployments) ? deployments.filter(isJsonObject) : []
}

/** Unlike a key, whose absence leaves its provider unused, a secret that a row names must be there. */
export function findUnsetSecrets(providers: unknown, environment: Environment): readonly string[] {
  return Object.entries(isJsonObject(providers) ? providers : {}).flatMap(([id, row]) => {
    const name = isJsonObject(row) ? row.client_secret_variable : undefined
    if (!isText(name) || environment[name]) return []
    return [`providers.${id}.client_secret_variable: ${name} is not set`]
  })
}

/**
 * Sets each named variable to the content of the file that `<NAME>_FILE` names, as containers and systemd
 * provide secrets. Issues never show the content of a file.
 */
export function readSecretFiles(
  environment: Environment,
  names: readonly string[],
): { environment: Environment; issues: readonly string[] } {
  const issues: string[] = []
  const resolved: Record<string, string | undefined> = { ...environment }
  for (const name of names) {
    const file = environment[`${name}_FILE`]
    if (!file) continue
    if (environment[name]) issues.push(`${name} and ${name}_FILE are both set; unset one of them`)
    else resolved[name] = readSecretFile(name, file, issues)
  }
  return { environment: resolved, issues }
}

function readSecretFile(name: string, file: string, issues: string[]): string | undefined {
  try {
    const secret = readFileSync(file, 'utf8').trim()
    if (/^\S+$/.test(secret)) return secret
    issues.push(`${name}_FILE must name a file that contains the value only, without spaces: ${file}`)
  } catch (error) {
    issues.push(`${name}_FILE cannot be read: ${errorMessage(error)}`)
  }
  return undefined
}

/** Deletes variables from `process.env`, so that plugins and child processes cannot read secrets. */
export function deleteFromProcessEnv(names: readonly string[]): void {
  for (const name of names) delete process.env[name]
}
