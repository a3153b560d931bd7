import { readFileSync } from 'node:fs'
import {
  type Attributes,
  isJsonObject,
  type JsonObject,
  type Mode,
  type Model,
} from '../../core/contract/index.ts'
import type { PluginEntry } from '../../core/pipeline/load.ts'
import type { SettingsReport } from '../../core/pipeline/settings-report.ts'
import type { ProviderTerms } from '../../core/prices/cost.ts'
import { compileValidator, describeSchemaErrors } from '../../core/util/json-schema.ts'
import { shippedFile } from '../../core/util/package-folder.ts'
import type { CloudRow } from '../../providers/auth/authorizer.ts'
import type { ChatSettings } from '../../providers/chat-format/field-settings.ts'
import type { Capabilities } from '../../providers/shared/catalog.ts'
import type { ProviderClientOptions } from '../../providers/shared/client.ts'
import type { Balance, DeploymentOptions } from '../../providers/shared/deployments.ts'
import type { ProviderAuth } from '../../providers/shared/request-headers.ts'
import { buildPresetSettings } from './capability-presets.ts'
import { findSettingsIssues } from './check-settings.ts'
import { describeSettings } from './describe-settings.ts'
import {
  applyEnvironment,
  defaultKeyVariable,
  type Environment,
  findUnsetSecrets,
  listSecretVariables,
  readSecretFiles,
} from './environment.ts'
import { combineModels, readModeAliases, readShippedModels, readUpdatedModels } from './model-list.ts'
import { resolvePluginList } from './plugin-list.ts'
import { completeProviders } from './provider-presets.ts'
import { readShippedYaml, readYaml } from './read-yaml.ts'
import type { SettingsDocument } from './schema.ts'
import { SettingsError } from './settings-error.ts'

/**
 * The settings of this process: the shipped defaults, overridden by the operator's file and then by the
 * environment. `eventstore_url`, `redis_url`, `ledger_url`, `admin_key`, `audit_export_secret`,
 * `guardrail_secret`, `approval_secret`, `alert_secret`, `ledger_export_secret`, `smtp_password`,
 * `oidc_client_secret`, `record_key` and `features_key` are secrets: never log them.
 */
export interface Settings extends Omit<SettingsDocument, 'plugins' | 'providers' | 'models'> {
  readonly plugins: readonly PluginEntry[]
  readonly providers: Readonly<Record<string, ProviderSettings>>
  readonly models: readonly Model[]
  /** The rows of `models` that are the operator's own. */
  readonly ownModels: SettingsDocument['models']
  /** Aliases of routing modes, in lower case. */
  readonly modeAliases: ReadonlyMap<string, Mode>
  /** Returns `models` with the current rows of the data folder. Throws a `SettingsError`. */
  readonly rereadModels: () => readonly Model[]
  /** Describes the settings and where they came from, without secrets. */
  readonly report: () => SettingsReport
  /** Log messages about files that are not used, such as a damaged updated catalogue. */
  readonly warnings: readonly string[]
}

/** The settings as threads can get them. */
export type SettingsData = Omit<Settings, 'rereadModels' | 'report'>

/** The identity that a cloud gives to the process. */
export type CloudAuth = 'aws' | 'google' | 'entra'

interface ProviderSettings extends ProviderTerms, CloudRow, ChatSettings, Omit<Attributes, 'region'> {
  readonly format: string
  readonly base_url?: string | undefined
  readonly capabilities: Capabilities
  readonly key_variable: string
  /** Undefined when the provider's key variable is not set, and when the provider needs no key. */
  readonly api_key: string | undefined
  /** The file that the key was read from. */
  readonly key_file?: string
  readonly auth: ProviderAuth | CloudAuth | undefined
  readonly query: Readonly<Record<string, string>> | undefined
  readonly check_path?: string
  readonly timeouts?: Partial<ProviderClientOptions['timeouts']>
  readonly deployments?: readonly DeploymentSettings[]
  readonly balance?: Balance
}

export interface DeploymentSettings extends DeploymentOptions {
  readonly base_url?: string
  /** The environment variable of its own key. */
  readonly key?: string
  /** Undefined when its key variable is not set. Default: the key of the provider. */
  readonly api_key: string | undefined
  /** The file that its own key was read from. */
  readonly key_file?: string
}

export function isCloudAuth(auth: unknown): auth is CloudAuth {
  return auth === 'aws' || auth === 'google' || auth === 'entra'
}

/** Whether requests can be sent to the provider: it has a key or the identity of a cloud, or needs none. */
export function isConfigured({
  api_key,
  auth,
  deployments,
}: Pick<ProviderSettings, 'api_key' | 'auth' | 'deployments'>): boolean {
  if (auth === 'none' || isCloudAuth(auth)) return true
  return deployments === undefined ? api_key !== undefined : deployments.some((own) => own.api_key)
}

/** Returns the row of a provider as it is for one of its deployments. */
export function rowOfDeployment(
  { deployments: _, ...row }: ProviderSettings,
  { base_url, key, api_key, region }: DeploymentSettings,
): ProviderSettings {
  return {
    ...row,
    base_url: base_url ?? row.base_url,
    key_variable: key ?? row.key_variable,
    api_key,
    ...(region !== undefined && { region }),
  }
}

/** Whether no provider is configured, so that the sandbox replaces all of them. */
export function needsSandbox({ providers }: Pick<Settings, 'providers'>): boolean {
  return !Object.values(providers).some(isConfigured)
}

const schema = JSON.parse(readFileSync(shippedFile('config/schema.json'), 'utf8'))
const validate = compileValidator<SettingsDocument>(schema)

/** Reads and validates all settings. Throws a `SettingsError` that lists every issue. */
export function readSettings(processEnvironment: Environment): Settings {
  const issues: string[] = []
  // Secrets are deleted from the environment of the process later.
  const given = { ...processEnvironment }
  const ownFile = given.CONFIG
  const shipped = toMap(readShippedYaml('config/default.yaml', issues), 'default.yaml', issues)
  const own = ownFile ? toMap(readYaml(ownFile, issues), ownFile, issues) : {}
  const completed = mergeSettings(mergeSettings(shipped, buildPresetSettings(own.capabilities)), own)
  const merged = completeProviders(completed, shipped, mergeSettings, issues)
  const secrets = readSecretFiles(processEnvironment, listSecretVariables(merged.providers))
  const { environment } = secrets
  const { settings, issues: environmentIssues } = applyEnvironment(merged, environment)
  issues.push(...secrets.issues, ...environmentIssues)

  const shippedModels = readShippedModels(issues)
  const isValid = validate(settings)
  if (!isValid) issues.push(...describeSchemaErrors(validate.errors))
  issues.push(...findSettingsIssues(settings), ...findUnsetSecrets(settings.providers, environment))
  const shippedPlugins = Array.isArray(shipped.plugins) ? shipped.plugins : []
  const listed = isValid ? resolvePluginList(settings.plugins, shippedPlugins, issues) : []
  const hasAlerts = Array.isArray(settings.alerts) && settings.alerts.length > 0
  // Plugins with events of their own read the whole log at the start.
  const plugins = hasAlerts ? listed : listed.filter(({ use }) => use !== 'alerts')
  if (isValid && settings.ledger.record_prompts !== 'off' && !plugins.some(({ use }) => use === 'ledger'))
    issues.push(`ledger.record_prompts: ${settings.ledger.record_prompts} requires the plugin ledger`)
  if (issues.length > 0 || !isValid) throw new SettingsError([...new Set(issues)])

  const models = combineModels(shippedModels, [], settings)
  const rereadModels = () => combineModels(shippedModels, readUpdatedModels(settings.data_dir), settings)
  const updated = attempt(rereadModels)
  const providers = toProviderSettings(settings.providers, environment)
  return {
    ...settings,
    plugins,
    providers,
    models: updated.value ?? models,
    ownModels: settings.models,
    modeAliases: readModeAliases(settings.model_aliases),
    rereadModels,
    report: () =>
      describeSettings({
        ...{ schema, shipped, own, ownFile, environment },
        given,
        settings: { ...settings, plugins },
      }),
    warnings: [
      ...updated.issues.map((issue) => `the updated catalogue is not used: ${issue}`),
      ...listUnusedDeployments(providers),
      ...warnOfOperatorKey(settings.admin_key),
    ],
  }
}

/** Of a provider that is configured, deployments without a key. */
function listUnusedDeployments(providers: Settings['providers']): readonly string[] {
  return Object.entries(providers).flatMap(([provider, { auth, deployments = [], ...row }]) =>
    !isConfigured({ ...row, auth, deployments })
      ? []
      : deployments
          .filter(({ api_key }) => !isConfigured({ auth, api_key }))
          .map(
            ({ id, key }) => `deployment ${id} of ${provider} is not used: set ${key ?? row.key_variable}`,
          ),
  )
}

/** As the `ADMIN_KEY` of a gateway, the key of an operator grants everything, even after it is revoked. */
function warnOfOperatorKey(adminKey: string | null | undefined): readonly string[] {
  if (!adminKey?.startsWith('op_')) return []
  return [
    'ADMIN_KEY is the key of an operator: it grants everything, even when the operator is revoked; ' +
      'unset it where the gateway starts, or set a key of its own',
  ]
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

function toProviderSettings(
  providers: SettingsDocument['providers'],
  environment: Environment,
): Settings['providers'] {
  const rows = Object.entries(providers).map(([id, { deployments: listed, ...row }]) => {
    const key_variable = row.key_variable ?? defaultKeyVariable(id)
    const { auth, query, client_secret_variable: secretVariable } = row
    const hasKey = auth !== 'none' && !isCloudAuth(auth)
    const api_key = hasKey ? environment[key_variable] || undefined : undefined
    const client_secret = secretVariable && environment[secretVariable]
    const client_secret_file = secretVariable && (environment[`${secretVariable}_FILE`] || undefined)
    // The cast is safe: a row without a format is an issue.
    const format = row.format as string
    const isOpenAi = OPENAI_HOST.test(row.base_url ?? listed?.[0]?.base_url ?? '')
    const defaults = {
      ...DEFAULT_CAPABILITIES,
      reasoning: !isOpenAi,
      developer_role: isOpenAi,
      // Adapters of other formats read the marks of Anthropic's cache, or leave them out.
      cache_control: format !== 'openai',
    }
    const capabilities = { ...defaults, ...row.capabilities }
    const fileOf = (variable: string | undefined) => {
      const key_file = variable && environment[`${variable}_FILE`]
      return key_file ? { key_file } : {}
    }
    const deployments = listed?.map((deployment) => ({
      ...deployment,
      ...fileOf(deployment.key),
      api_key: deployment.key === undefined ? api_key : environment[deployment.key] || undefined,
    }))
    return [
      id,
      {
        ...row,
        format,
        auth,
        query,
        key_variable,
        api_key,
        ...fileOf(hasKey ? key_variable : undefined),
        client_secret,
        client_secret_file,
        capabilities,
        ...(deployments && { deployments }),
      },
    ] as const
  })
  return Object.fromEntries(rows)
}

/** Capabilities that a provider row does not mention. */
const DEFAULT_CAPABILITIES: Capabilities = { json: 'none', logit_bias: false, seed: false }

/** Hosts of OpenAI itself and of Azure. */
const OPENAI_HOST = /^https?:\/\/(?:[^/]*\.)?(?:openai\.com|azure\.(?:com|us|cn))(?::\d+)?(?:\/|$)/i

/** A worker must be able to restart while the file that `models update` writes is damaged. */
function attempt<T>(read: () => T): { readonly value?: T; readonly issues: readonly string[] } {
  try {
    return { value: read(), issues: [] }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return { issues: error.issues }
  }
}

/** The separate address of `/metrics`; undefined when it is served on the main address. */
export function metricsAddress({ host, metrics_port }: Settings) {
  return typeof metrics_port === 'number' ? { host, port: metrics_port } : undefined
}
