import { isJsonObject, type JsonObject } from '../core/contract/index.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Variables and the settings they set. */
const VARIABLES = [
  { variable: 'HOST', setting: 'host', read: asText },
  { variable: 'PORT', setting: 'port', read: asPort },
  { variable: 'ROUTE_PORT', setting: 'route_port', read: asPort },
  { variable: 'DATA_DIR', setting: 'data_dir', read: asText },
  { variable: 'EVENTSTORE_URL', setting: 'eventstore_url', read: asText },
  { variable: 'REDIS_URL', setting: 'redis_url', read: asText },
  { variable: 'METRICS_PORT', setting: 'metrics_port', read: asPort },
  { variable: 'ADMIN_KEY', setting: 'admin_key', read: asText },
  { variable: 'LOG_LEVEL', setting: 'log_level', read: asText },
] as const

/** Every variable that sets something, besides CONFIG and those of the providers. */
export const VARIABLE_NAMES: readonly string[] = VARIABLES.map(({ variable }) => variable)

/** Variables of features that this version does not have: better no start than one that ignores them. */
const UNAVAILABLE = ['WORKERS']

/** Puts the environment over the settings, and lists what is wrong with it. An empty variable counts as not set. */
export function readEnvironment(
  settings: JsonObject,
  environment: Environment,
): { settings: JsonObject; faults: readonly string[] } {
  const faults: string[] = []
  const changed: Record<string, unknown> = { ...settings }
  for (const { variable, setting, read } of VARIABLES) {
    const text = environment[variable]
    if (!text) continue
    const value = read(text)
    if (value === undefined) faults.push(`${variable} must be an integer from 0 to 65535, not "${text}"`)
    else changed[setting] = value
  }
  for (const variable of UNAVAILABLE) {
    if (environment[variable])
      faults.push(`${variable} is set, and this version does not have what it is for: unset it`)
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

function asText(text: string): string {
  return text
}

function asPort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65535 ? Number(text) : undefined
}
