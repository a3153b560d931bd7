import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import type { DescribedSetting, SettingSource, SettingsReport } from '../../core/pipeline/settings-report.ts'
import { createSecretRedactor, type SecretRedactor } from '../../core/secrets/redact-secrets.ts'
import { BUILT_IN_NAMES } from './built-in-names.ts'
import {
  defaultKeyVariable,
  type Environment,
  isSecretSetting,
  listSecrets,
  variableOfSetting,
} from './environment.ts'

/** Where the settings come from. */
export interface SettingsLayers {
  readonly schema: JsonObject
  readonly shipped: JsonObject
  readonly own: JsonObject
  readonly ownFile: string | undefined
  /** As it was given: secrets may be in files that it names. */
  readonly given: Environment
  /** With the secrets of these files. */
  readonly environment: Environment
  /** All of them together, with the presets, and the plugins in running order. */
  readonly settings: JsonObject
}

/** Stands in for a text that may be a secret. */
const HIDDEN = '[hidden]'

type Path = readonly string[]

/**
 * Describes the value of each setting and where it came from. Secrets are not part of it, and neither is any
 * text that may hold one. See docs/decisions/operators.md, "Operators who see everything see the settings".
 */
export function describeSettings(layers: SettingsLayers): SettingsReport {
  const redactor = createSecretRedactor([
    ...listSecrets(layers.settings),
    ...listKeys(layers).flatMap(({ variable }) => layers.environment[variable] ?? []),
  ])
  const found = [...walk([], layers.schema, layers.settings)]
  const settings = found.map((each) => describeSetting(each, layers, redactor))
  const keys = listKeys(layers).map((key) => describeKey(key, layers))
  return {
    file: layers.ownFile ?? null,
    settings: [...settings, ...keys].sort((a, b) => order(a.name, layers) - order(b.name, layers)),
  }
}

/** Keys of providers stand beside the rows. */
function order(name: string, { schema }: SettingsLayers): number {
  return Object.keys(toObject(schema.properties)).indexOf(name.split('.')[0] ?? '')
}

interface Found {
  readonly path: Path
  readonly schema: JsonObject
  /** Undefined if the setting is not set. */
  readonly value: unknown
}

/** Finds all settings: of sections with known fields, also those that are not set. */
function* walk(path: Path, schema: JsonObject, value: unknown): Generator<Found> {
  const fields = toObject(variantOf(schema, value).properties)
  const isProviders = path.length === 1 && path[0] === 'providers'
  const hasFields = Object.keys(fields).length > 0 || isProviders
  if (!hasFields || !isJsonObject(value) || path[0] === 'plugins') {
    yield { path, schema, value }
    return
  }
  // Of a provider, only what its row has: most fields concern few providers.
  const names = Object.keys(path[0] === 'providers' ? value : { ...fields, ...value })
  for (const name of names)
    yield* walk([...path, name], toObject(fields[name] ?? rowSchema(schema)), value[name])
}

function rowSchema({ patternProperties }: JsonObject): unknown {
  return Object.values(toObject(patternProperties))[0]
}

/** Of alternatives, the one with fields for an object. */
function variantOf(schema: JsonObject, value: unknown): JsonObject {
  if (!isJsonObject(value) || !Array.isArray(schema.anyOf)) return schema
  return toObject(schema.anyOf.find((variant) => isJsonObject(variant) && variant.properties !== undefined))
}

function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

function describeSetting(
  { path, schema, value }: Found,
  layers: SettingsLayers,
  redactor: SecretRedactor,
): DescribedSetting {
  const name = path.join('.')
  const isSecret = isSecretSetting(name)
  const variable = variableOfSetting(path)
  const source = sourceOf(path, variable, layers)
  const shipped = valueAt(layers.shipped, path)
  const show = (shown: unknown) => (isSecret ? null : hideSecrets(shown ?? null, path.at(-1) ?? '', redactor))
  return {
    name,
    value: show(value),
    ...(source.type !== 'default' && shipped !== undefined && { default: show(shipped) }),
    source,
    ...(variable !== undefined && { variable }),
    is_secret: isSecret,
    is_set: value !== undefined && value !== null,
    ...(typeof schema.description === 'string' && { description: schema.description }),
  }
}

function sourceOf(
  path: Path,
  variable: string | undefined,
  { shipped, own, ownFile, given, environment }: SettingsLayers,
): SettingSource {
  if (variable && environment[variable]) return fromEnvironment(variable, given)
  if (ownFile !== undefined && valueAt(own, path) !== undefined) return { type: 'file', name: ownFile }
  const isPreset = path[0] === 'providers' && valueAt(shipped, path) === undefined
  return { type: isPreset ? 'preset' : 'default' }
}

function fromEnvironment(variable: string, given: Environment): SettingSource {
  const name = given[variable] ? variable : `${variable}_FILE`
  return { type: 'environment', name }
}

function valueAt(settings: JsonObject, path: Path): unknown {
  return path.reduce<unknown>((value, name) => (isJsonObject(value) ? value[name] : undefined), settings)
}

interface ProviderKey {
  readonly name: string
  readonly variable: string
}

/** The keys and secrets of providers, which are in the environment only. */
function listKeys({ settings }: SettingsLayers): readonly ProviderKey[] {
  return Object.entries(toObject(settings.providers)).flatMap(([id, given]) => {
    const row = toObject(given)
    const own = typeof row.key_variable === 'string' ? row.key_variable : defaultKeyVariable(id)
    const hasKey = row.auth === undefined || isJsonObject(row.auth)
    const secret = row.client_secret_variable
    const deployments = Array.isArray(row.deployments) ? row.deployments.map(toObject) : []
    return [
      ...(hasKey ? [{ name: `providers.${id}.api_key`, variable: own }] : []),
      ...(typeof secret === 'string' ? [{ name: `providers.${id}.client_secret`, variable: secret }] : []),
      ...deployments.flatMap(({ id: deployment, key }) =>
        typeof key === 'string'
          ? [{ name: `providers.${id}.deployments.${deployment}.api_key`, variable: key }]
          : [],
      ),
    ]
  })
}

function describeKey(
  { name, variable }: ProviderKey,
  { given, environment }: SettingsLayers,
): DescribedSetting {
  const isSet = Boolean(environment[variable])
  return {
    name,
    value: null,
    source: isSet ? fromEnvironment(variable, given) : { type: 'default' },
    variable,
    is_secret: true,
    is_set: isSet,
  }
}

/** Fields whose names say that their text is a secret, and not where one is. */
const SECRET_NAME = /(?:^|[_-])(?:secret|password|passphrase|token|api[_-]?key|authorization|credentials?)$/i

/** Fields whose texts are free: parameters, headers and variables. */
const FREE = new Set(['query', 'headers', 'env'])

/** Fields with addresses whose paths are secrets. */
const WEBHOOKS = new Set(['webhook', 'webhook_url', 'slack'])

/** Names where a secret is, such as `env:SLACK_URL`. */
const REFERENCE = /^(?:env|file):/

function hideSecrets(value: unknown, name: string, redactor: SecretRedactor, isFree = false): unknown {
  if (typeof value === 'string') {
    if (REFERENCE.test(value)) return value
    return isFree || SECRET_NAME.test(name) ? HIDDEN : redactor.text(hideInAddress(value, name))
  }
  if (Array.isArray(value)) {
    // Arguments of a program, not the program.
    const isShown = (index: number) => name !== 'command' || index === 0
    return value.map((item, index) => hideSecrets(item, name, redactor, isFree || !isShown(index)))
  }
  if (!isJsonObject(value)) return value
  // Nobody but the package knows which of its options are secrets.
  const isPackage = typeof value.use === 'string' && !BUILT_IN_NAMES.includes(value.use)
  // A target of ledger.export.
  const isWebhook = (field: string) => field === 'url' && value.to === 'webhook'
  const entries = Object.entries(value).map(([field, item]) => {
    const isFreeField = isFree || FREE.has(name) || FREE.has(field) || (isPackage && field === 'options')
    return [field, hideSecrets(item, isWebhook(field) ? 'webhook' : field, redactor, isFreeField)]
  })
  return Object.fromEntries(entries)
}

/** Hides the user, the password and the parameters of an address; of a webhook, the path, too. */
function hideInAddress(text: string, name: string): string {
  const [, begin = '', user = '', host = '', path = '', query = ''] =
    /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]*@)?([^/?#]*)([^?#]*)(.*)$/is.exec(text) ?? []
  if (begin === '') return text
  const shownPath = WEBHOOKS.has(name) && path.length > 1 ? `/${HIDDEN}` : path
  return `${begin}${user && `${HIDDEN}@`}${host}${shownPath}${query && `?${HIDDEN}`}`
}
