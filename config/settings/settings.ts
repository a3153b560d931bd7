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
import { findFaults } from './check-settings.ts'
import {
  type Environment,
  keyVariable,
  listSecrets,
  readEnvironment,
  readSecretFiles,
} from './environment.ts'
import { readYaml } from './read-yaml.ts'
import { shippedFile } from './shipped-files.ts'

/** How this process is to run: the shipped settings, the operator's file over them, the environment over both. */
export interface Settings {
  readonly host: string
  /** Processes that serve. */
  readonly workers: number
  readonly port: number
  readonly route_port: number
  readonly data_dir: string
  /** Holds a password: never to be shown. */
  readonly eventstore_url?: string | null
  /** Holds a password: never to be shown. */
  readonly redis_url?: string | null
  /** Without it the metrics are on the main address, for the bearer of the admin key. */
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
    readonly stalled_ms: number
  }
  readonly breaker: BreakerSettings
  readonly snapshots: { readonly every_events: number }
  readonly responses: { readonly keep_days: number }
  readonly rate_limits: RateLimitSettings
  readonly limits: {
    readonly body_bytes: number
    readonly header_bytes: number
    readonly headers: number
    readonly connections: number | null
    readonly failed_keys_per_minute: number | null
  }
  /** Addresses and networks whose `x-forwarded-for` is believed. */
  readonly trusted_proxies: readonly string[]
  readonly cors: CorsSettings
  readonly hsts_seconds?: number | null
}

interface ProviderSettings {
  readonly format: AdapterName
  readonly base_url: string
  readonly capabilities: Capabilities
  readonly key_variable: string
  /** Undefined when the provider's key variable is not set. */
  readonly api_key: string | undefined
}

/** Whether there is no provider key at all. */
export function needsSandbox({ providers }: Pick<Settings, 'providers'>): boolean {
  return Object.values(providers).every(({ api_key }) => api_key === undefined)
}

/** All faults in the settings, each with the setting's name and what is allowed. */
export class SettingsError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(
      `The settings have ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    )
    this.name = 'SettingsError'
    this.faults = faults
  }
}

const schema = JSON.parse(readFileSync(shippedFile('config/schema.json'), 'utf8'))
const check = compileValidator<Document>(schema)
const checkModels = compileValidator<Row[]>({
  type: 'array',
  items: { $ref: '#/definitions/model' },
  definitions: schema.definitions,
})

/** A settings document as its schema describes it. */
type Document = Omit<Settings, 'plugins' | 'providers' | 'models'> & {
  readonly plugins: readonly (string | { use: string; options?: JsonObject })[]
  readonly providers: Readonly<Record<string, ProviderRow>>
  readonly models: readonly Row[]
}

interface ProviderRow {
  readonly format: AdapterName
  readonly base_url: string
  readonly key_variable?: string
  readonly capabilities?: Partial<Capabilities>
}

type Row = Omit<Model, 'aliases' | 'reasoning' | 'sampling' | 'quirks'> & Partial<Model>

/** Reads and checks everything; throws a `SettingsError` that lists every fault at once. */
export function readSettings(given: Environment): Settings {
  const faults: string[] = []
  const shipped = readYaml(shippedFile('config/default.yaml'), faults)
  const own = given.CONFIG ? readYaml(given.CONFIG, faults) : {}
  const merged = merge(asMap(shipped, 'default.yaml', faults), asMap(own, given.CONFIG ?? '', faults))
  const { environment, faults: fileFaults } = readSecretFiles(given, listSecrets(merged.providers))
  faults.push(...fileFaults)
  const { settings, faults: environmentFaults } = readEnvironment(merged, environment)
  faults.push(...environmentFaults)

  const rows = readYaml(shippedFile('config/models.yaml'), faults)
  if (!checkModels(rows))
    faults.push(...(checkModels.errors ?? []).map((fault) => `models.yaml: ${describeSchemaError(fault)}`))
  if (!check(settings)) faults.push(...(check.errors ?? []).map(describeSchemaError))
  faults.push(...findFaults(settings))
  if (faults.length > 0 || !check(settings) || !checkModels(rows))
    throw new SettingsError([...new Set(faults)])

  return {
    ...settings,
    plugins: settings.plugins.map(readEntry),
    providers: withKeys(settings.providers, environment),
    models: mergeModels(rows, settings.models),
  }
}

function asMap(value: unknown, file: string, faults: string[]): JsonObject {
  if (isJsonObject(value)) return value
  faults.push(`${file} must hold a map of settings`)
  return {}
}

/** Maps are merged key by key, everything else is replaced. */
function merge(base: JsonObject, over: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key]
    merged[key] = isJsonObject(below) && isJsonObject(value) ? merge(below, value) : value
  }
  return merged
}

function readEntry(entry: Document['plugins'][number]): PluginEntry {
  return typeof entry === 'string'
    ? { use: entry, options: {} }
    : { use: entry.use, options: entry.options ?? {} }
}

function withKeys(providers: Document['providers'], environment: Environment): Settings['providers'] {
  const rows = Object.entries(providers).map(([id, { key_variable, ...row }]) => {
    const name = key_variable ?? keyVariable(id)
    const api_key = environment[name] || undefined
    return [
      id,
      { ...row, key_variable: name, api_key, capabilities: { ...FEWEST_CAPABILITIES, ...row.capabilities } },
    ] as const
  })
  return Object.fromEntries(rows)
}

/** Of a provider whose row does not say more. */
const FEWEST_CAPABILITIES: Capabilities = { json: 'none', logit_bias: false, seed: false }

function mergeModels(shipped: readonly Row[], own: readonly Row[]): readonly Model[] {
  const rows = new Map<string, Model>()
  for (const row of [...shipped, ...own]) {
    rows.set(`${row.provider}:${row.id}`, {
      aliases: [],
      reasoning: false,
      sampling: true,
      quirks: {},
      ...row,
    })
  }
  return [...rows.values()]
}
