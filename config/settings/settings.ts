import { readFileSync } from 'node:fs'
import { isJsonObject, type JsonObject, type Model } from '../../core/contract/index.ts'
import type { CorsSettings } from '../../core/http/cors.ts'
import type { PluginEntry } from '../../core/pipeline/load.ts'
import { compileValidator, describeSchemaError } from '../../core/util/json-schema.ts'
import type { RateLimitSettings } from '../../plugins/rate-limit/plugin.ts'
import type { ModeWeights } from '../../plugins/routing/routing-catalog.ts'
import type { AdapterName } from '../../providers/adapters.ts'
import type { BreakerSettings } from '../../providers/shared/breaker.ts'
import type { Capabilities } from '../../providers/shared/catalog.ts'
import { findSettingsIssues } from './check-settings.ts'
import { replaceDeprecatedSettings } from './deprecated-settings.ts'
import {
  applyEnvironment,
  defaultKeyVariable,
  type Environment,
  listSecretVariables,
  readSecretFiles,
} from './environment.ts'
import { readYaml } from './read-yaml.ts'
import { shippedFile } from './shipped-files.ts'

/**
 * The settings of this process: the shipped defaults, overridden by the operator's file and then by the
 * environment.
 */
export interface Settings {
  readonly host: string
  /** The number of serving processes. */
  readonly workers: number
  readonly port: number
  readonly route_port: number
  readonly data_dir: string
  /** May contain a password: never log it. */
  readonly eventstore_url?: string | null
  /** May contain a password: never log it. */
  readonly redis_url?: string | null
  /** Without it, `/metrics` is served on the main address and requires the admin key. */
  readonly metrics_port?: number | null
  readonly admin_key?: string | null
  readonly log_level: string
  readonly plugins: readonly PluginEntry[]
  readonly providers: Readonly<Record<string, ProviderSettings>>
  readonly models: readonly Model[]
  readonly modes: ModeWeights
  readonly timeouts: {
    readonly connect_ms: number
    readonly first_byte_ms: number
    readonly idle_ms: number
    readonly drain_ms: number
    readonly headers_ms: number
    readonly request_ms: number
    readonly keep_alive_ms: number
    readonly write_timeout_ms: number
  }
  readonly breaker: BreakerSettings
  readonly snapshots: { readonly every_events: number }
  readonly responses: { readonly retention_days: number }
  readonly rate_limits: RateLimitSettings
  readonly limits: {
    readonly body_bytes: number
    readonly header_bytes: number
    readonly headers: number
    readonly connections: number | null
    readonly auth_failures_per_minute: number | null
  }
  /** Addresses and networks whose `x-forwarded-for` header is trusted. */
  readonly trusted_proxies: readonly string[]
  readonly cors: CorsSettings
  readonly hsts_seconds?: number | null
  /** Log messages about deprecated settings that are in use. */
  readonly warnings: readonly string[]
}

interface ProviderSettings {
  readonly format: AdapterName
  readonly base_url: string
  readonly capabilities: Capabilities
  readonly key_variable: string
  /** Undefined when the provider's key variable is not set. */
  readonly api_key: string | undefined
}

/** Whether no provider has a key, so that the sandbox replaces all of them. */
export function needsSandbox({ providers }: Pick<Settings, 'providers'>): boolean {
  return Object.values(providers).every(({ api_key }) => api_key === undefined)
}

/** Lists all issues with the settings. Each names the setting and the allowed values. */
export class SettingsError extends Error {
  readonly issues: readonly string[]

  constructor(issues: readonly string[]) {
    const count = issues.length === 1 ? 'an issue' : `${issues.length} issues`
    super(`The settings have ${count}:\n${issues.map((issue) => `  - ${issue}`).join('\n')}`)
    this.name = 'SettingsError'
    this.issues = issues
  }
}

const schema = JSON.parse(readFileSync(shippedFile('config/schema.json'), 'utf8'))
const validate = compileValidator<SettingsDocument>(schema)
const validateModels = compileValidator<ModelRow[]>({
  type: 'array',
  items: { $ref: '#/definitions/model' },
  definitions: schema.definitions,
})

/** The settings as written in a file, before defaults of rows are filled in. */
type SettingsDocument = Omit<Settings, 'plugins' | 'providers' | 'models' | 'warnings'> & {
  readonly plugins: readonly (string | { use: string; options?: JsonObject })[]
  readonly providers: Readonly<Record<string, ProviderRow>>
  readonly models: readonly ModelRow[]
}

interface ProviderRow {
  readonly format: AdapterName
  readonly base_url: string
  readonly key_variable?: string
  readonly capabilities?: Partial<Capabilities>
}

type ModelRow = Omit<Model, 'aliases' | 'reasoning' | 'sampling' | 'quirks'> & Partial<Model>

/** Reads and validates all settings. Throws a `SettingsError` that lists every issue. */
export function readSettings(processEnvironment: Environment): Settings {
  const issues: string[] = []
  const ownFile = processEnvironment.CONFIG
  const shipped = toMap(readYaml(shippedFile('config/default.yaml'), issues), 'default.yaml', issues)
  const ownAsWritten = ownFile ? toMap(readYaml(ownFile, issues), ownFile, issues) : {}
  const { settings: own, warnings } = replaceDeprecatedSettings(ownAsWritten, issues)
  const merged = mergeSettings(shipped, own)
  const secrets = readSecretFiles(processEnvironment, listSecretVariables(merged.providers))
  const { environment } = secrets
  const { settings, issues: environmentIssues } = applyEnvironment(merged, environment)
  issues.push(...secrets.issues, ...environmentIssues)

  const models = readYaml(shippedFile('config/models.yaml'), issues)
  if (!validateModels(models))
    issues.push(...(validateModels.errors ?? []).map((error) => `models.yaml: ${describeSchemaError(error)}`))
  if (!validate(settings)) issues.push(...(validate.errors ?? []).map(describeSchemaError))
  issues.push(...findSettingsIssues(settings))
  if (issues.length > 0 || !validate(settings) || !validateModels(models))
    throw new SettingsError([...new Set(issues)])

  return {
    ...settings,
    plugins: settings.plugins.map(toPluginEntry),
    providers: toProviderSettings(settings.providers, environment),
    models: mergeModels(models, settings.models),
    warnings,
  }
}

function toMap(value: unknown, file: string, issues: string[]): JsonObject {
  if (isJsonObject(value)) return value
  issues.push(`${file} must contain a map of settings`)
  return {}
}

/** Merges maps key by key. Any other value of `override`, such as a list, replaces that of `base`. */
function mergeSettings(base: JsonObject, override: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(override)) {
    const current = merged[key]
    merged[key] = isJsonObject(current) && isJsonObject(value) ? mergeSettings(current, value) : value
  }
  return merged
}

function toPluginEntry(entry: SettingsDocument['plugins'][number]): PluginEntry {
  return typeof entry === 'string'
    ? { use: entry, options: {} }
    : { use: entry.use, options: entry.options ?? {} }
}

function toProviderSettings(
  providers: SettingsDocument['providers'],
  environment: Environment,
): Settings['providers'] {
  const rows = Object.entries(providers).map(([id, row]) => {
    const key_variable = row.key_variable ?? defaultKeyVariable(id)
    const api_key = environment[key_variable] || undefined
    const capabilities = { ...DEFAULT_CAPABILITIES, ...row.capabilities }
    return [id, { ...row, key_variable, api_key, capabilities }] as const
  })
  return Object.fromEntries(rows)
}

/** Capabilities that a provider row does not mention. */
const DEFAULT_CAPABILITIES: Capabilities = { json: 'none', logit_bias: false, seed: false }

/** An own row replaces the shipped row with the same provider and id. */
function mergeModels(shipped: readonly ModelRow[], own: readonly ModelRow[]): readonly Model[] {
  const models = new Map<string, Model>()
  for (const row of [...shipped, ...own]) {
    models.set(`${row.provider}:${row.id}`, {
      aliases: [],
      reasoning: false,
      sampling: true,
      quirks: {},
      ...row,
    })
  }
  return [...models.values()]
}
