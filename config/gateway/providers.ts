import { type Model, type ProviderAdapter, StrictObject } from '../../core/contract/index.ts'
import { replyCost, roundUsd } from '../../core/prices/cost.ts'
import { createSecretRedactor } from '../../core/secrets/redact-secrets.ts'
import { compileValidator, describeSchemaErrors } from '../../core/util/json-schema.ts'
import type { Authorizer, CloudRow } from '../../providers/auth/authorizer.ts'
import { createOpenAiAdapter } from '../../providers/openai/adapter.ts'
import { attributesOf } from '../../providers/shared/attributes.ts'
import { createCatalog } from '../../providers/shared/catalog.ts'
import { createProviderClient, type ProviderClientOptions } from '../../providers/shared/client.ts'
import { Deployment, DeploymentPool } from '../../providers/shared/deployments.ts'
import type { Provider, Providers } from '../../providers/shared/providers.ts'
import { listSecrets } from '../settings/environment.ts'
import {
  type CloudAuth,
  isCloudAuth,
  isConfigured,
  needsSandbox,
  rowOfDeployment,
  type Settings,
} from '../settings/settings.ts'
import { SettingsError } from '../settings/settings-error.ts'

/** Provider ids that rules and model prefixes may always use (docs/api.md, "Models and routing modes"). */
const WELL_KNOWN_IDS = ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek']

/** The base path at which the sandbox serves each wire format. It serves none of plugins. */
const SANDBOX_PATHS: ReadonlyMap<string, string> = new Map([
  ['openai', '/openai/v1'],
  ['anthropic', '/anthropic'],
  ['gemini', '/gemini'],
  ['mistral', '/mistral'],
  ['deepseek', '/deepseek'],
])

const SANDBOX_KEY = 'sandbox'

/**
 * Prepares a client for every configured provider. If there is none, all clients use the sandbox at
 * `sandboxUrl`, or one that this function starts.
 */
export async function openProviders(settings: Settings, sandboxUrl?: string): Promise<Providers> {
  const { providers, timeouts } = settings
  const sandbox = needsSandbox(settings) ? await openSandbox(sandboxUrl) : undefined
  const byId = new Map<string, Provider>()
  const redactor = createSecretRedactor([...listSecrets({ ...settings }), ...(sandbox ? [SANDBOX_KEY] : [])])
  const isAvailable = (id: string) => {
    const row = providers[id]
    return row !== undefined && (sandbox ? SANDBOX_PATHS.has(row.format) : isConfigured(row))
  }
  const catalog = createCatalog(settings.models, isAvailable)
  const authorizers = await createAuthorizers(providers)
  let known: ReadonlyMap<string, ProviderAdapter> = new Map()
  const checkModels = (models: readonly Model[]) => {
    const issues = findQuirkIssues(models, providers, known)
    if (issues.length > 0) throw new SettingsError(issues)
  }
  return {
    byId,
    catalog,
    costOf(usage, { entry, model: name, provider }) {
      const model = entry ?? catalog.find(name, provider)
      const cost = model && replyCost(model, usage, providers[provider])
      return cost && roundUsd(cost)
    },
    isAvailable,
    known: new Set([...WELL_KNOWN_IDS, ...Object.keys(providers)]),
    sandboxUrl: sandbox?.url,
    checkModels,
    connect(adapters) {
      known = adapters
      checkModels(catalog.models)
      for (const [id, row] of Object.entries(providers)) {
        const { format, base_url, api_key, auth, query, capabilities } = row
        const general = adapters.get(format)
        if (general === undefined) throw new Error(describeUnknownFormat(id, format, [...adapters.keys()]))
        if (!isAvailable(id)) continue
        const adapter = general.configure?.(row) ?? general
        const { deployments = [] } = row
        const isEachAddressed = deployments.every((own) => own.base_url !== undefined)
        const ofFirst = isEachAddressed ? deployments[0]?.base_url : undefined
        const baseUrl = base_url ?? adapter.baseUrl?.(row) ?? ofFirst
        if (baseUrl === undefined)
          throw new SettingsError([`providers.${id}.base_url is required with format: ${format}`])
        const access = sandbox
          ? { baseUrl: `${sandbox.url}${SANDBOX_PATHS.get(format)}`, apiKey: SANDBOX_KEY }
          : { baseUrl, apiKey: api_key, ...toAuth(auth, authorizers.get(id)), query }
        const createClient = (own: Partial<typeof access> = {}) =>
          createProviderClient({
            id,
            // A row of another format has no such settings.
            adapter: (row.fields ?? row.body) ? createOpenAiAdapter(row) : adapter,
            timeouts: { ...timeouts, ...row.timeouts },
            redactor,
            takesReasoning: capabilities.reasoning,
            takesDeveloperRole: capabilities.developer_role,
            ...access,
            ...own,
          })
        const members = (sandbox ? [] : deployments)
          .filter(({ api_key }) => isConfigured({ auth, api_key }))
          .map((own) => {
            const at = rowOfDeployment(row, own)
            const baseUrl = at.base_url ?? adapter.baseUrl?.(at) ?? access.baseUrl
            const authorizer = authorizers.get(`${id}/${own.id}`) ?? authorizers.get(id)
            return new Deployment(
              own,
              createClient({ baseUrl, apiKey: at.api_key, ...toAuth(auth, authorizer) }),
            )
          })
        const [first] = members
        byId.set(id, {
          client: first?.client ?? createClient(),
          capabilities,
          reads: adapter.reads,
          attributes: attributesOf(row),
          ...(first && { deployments: new DeploymentPool(members, row.balance) }),
        })
      }
    },
    startCredentials() {
      for (const authorizer of authorizers.values()) authorizer.start()
    },
    async close() {
      for (const authorizer of authorizers.values()) authorizer.close()
      await Promise.all(
        [...byId.values()]
          .flatMap(({ client, deployments }) => deployments?.members.map((own) => own.client) ?? [client])
          .map((client) => client.close()),
      )
      await sandbox?.close()
    },
  }
}

/** The modules that authorize by the identity of a cloud. They are loaded if a provider needs them. */
const AUTHORIZERS: Readonly<Record<CloudAuth, () => Promise<(row: CloudRow) => Authorizer>>> = {
  aws: async () => (await import('../../providers/auth/aws.ts')).createAwsAuthorizer,
  entra: async () => (await import('../../providers/auth/entra.ts')).createEntraAuthorizer,
  google: async () => (await import('../../providers/auth/google.ts')).createGoogleAuthorizer,
}

/** Creates what authorizes the requests to providers with the identity of a cloud, by their ids. */
export async function createAuthorizers(
  providers: Settings['providers'],
): Promise<ReadonlyMap<string, Authorizer>> {
  const authorizers = new Map<string, Authorizer>()
  for (const [id, row] of Object.entries(providers)) {
    if (!isCloudAuth(row.auth)) continue
    const create = await AUTHORIZERS[row.auth]()
    authorizers.set(id, create(row))
    // Requests are signed for a region.
    if (row.auth === 'aws')
      for (const own of row.deployments ?? [])
        if (own.region !== undefined) authorizers.set(`${id}/${own.id}`, create(rowOfDeployment(row, own)))
  }
  return authorizers
}

function toAuth(
  auth: Settings['providers'][string]['auth'],
  authorizer: Authorizer | undefined,
): Pick<ProviderClientOptions, 'auth' | 'authorizer'> {
  if (isCloudAuth(auth)) return { authorizer }
  return { auth }
}

/** Compares the quirks of models with what the adapters of their providers know. */
export function findQuirkIssues(
  models: readonly Model[],
  providers: Settings['providers'],
  adapters: ReadonlyMap<string, Pick<ProviderAdapter, 'quirks'>>,
): readonly string[] {
  const validators = new Map<string, ReturnType<typeof compileValidator>>()
  return models.flatMap(({ id, provider, quirks: { forced_tools: _, ...own } }) => {
    const format = providers[provider]?.format ?? ''
    const adapter = adapters.get(format)
    if (adapter === undefined || Object.keys(own).length === 0) return []
    const validate = validators.get(format) ?? compileValidator(adapter.quirks ?? NO_QUIRKS)
    validators.set(format, validate)
    if (validate(own)) return []
    const issues = describeSchemaErrors(validate.errors)
    return issues.map((issue) => `quirks of ${provider}/${id}, whose format is ${format}: ${issue}`)
  })
}

const NO_QUIRKS = StrictObject({})

export function describeUnknownFormat(id: string, format: string, known: readonly string[]): string {
  return (
    `providers.${id}.format is "${format}", which is not a known format. ` +
    `Use one of ${known.join(', ')}, or list the plugin that adds the format.`
  )
}

async function openSandbox(url: string | undefined) {
  if (url !== undefined) return { url, close: async () => undefined }
  const { startSandbox } = await import('../../providers/sandbox/server.ts')
  return startSandbox()
}
