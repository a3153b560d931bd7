import { isJsonObject, type JsonObject } from '../core/contract/index.ts'

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
