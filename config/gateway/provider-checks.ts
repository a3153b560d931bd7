import type { Model, ProviderAdapter } from '../../core/contract/index.ts'
import { NO_CLIENT } from '../../core/pipeline/decide-again.ts'
import { createSecretRedactor, type SecretRedactor } from '../../core/secrets/redact-secrets.ts'
import type { CheckedProvider } from '../../plugins/overview/provider-endpoints.ts'
import { ADAPTERS } from '../../providers/adapters.ts'
import { authorizeRequest } from '../../providers/shared/authorize.ts'
import { withoutDate } from '../../providers/shared/catalog.ts'
import { listSecrets } from '../settings/environment.ts'
import { isCloudAuth, isConfigured, rowOfDeployment, type Settings } from '../settings/settings.ts'
import { buildKeyHeaders, describeCallError, findListUrl, listModels, type Probe } from './probe-provider.ts'
import { createAuthorizers, openProviders } from './providers.ts'

type Row = Settings['providers'][string]

/** A provider, or one of its deployments. */
interface Endpoint {
  /** The provider's id. */
  readonly id: string
  /** Such as `azure` or `azure/west`. */
  readonly name: string
  readonly row: Row
  /** The model that a deployment has in place of others. */
  readonly model?: string | undefined
}

interface Context {
  readonly settings: Settings
  readonly redactor: SecretRedactor
  readonly isPaid: boolean
  readonly model: string | undefined
}

const BY_FORMAT: ReadonlyMap<string, ProviderAdapter> = new Map(
  ADAPTERS.map((adapter) => [adapter.format, adapter]),
)

/** Whether requests that cost money may be sent, and to which model. */
interface CheckOptions {
  readonly isPaid?: boolean
  readonly model?: string | undefined
}

/** Calls providers, and returns what is wrong with each of them, or with each of their deployments. */
export function checkEndpoints(
  settings: Settings,
  ids: readonly string[],
  { isPaid = false, model }: CheckOptions = {},
): Promise<readonly CheckedProvider[]> {
  const redactor = createSecretRedactor(listSecrets({ ...settings }))
  const endpoints = Object.entries(settings.providers)
    .filter(([id]) => ids.includes(id))
    .flatMap(([id, row]) => listEndpoints(id, row))
  return Promise.all(
    endpoints.map((endpoint) => checkEndpoint(endpoint, { settings, redactor, isPaid, model })),
  )
}

/** Each deployment may have an address and a key of its own. */
function listEndpoints(id: string, row: Row): readonly Endpoint[] {
  if (row.deployments === undefined) return [{ id, name: id, row }]
  return row.deployments.map((own) => ({
    id,
    name: `${id}/${own.id}`,
    model: own.model,
    row: rowOfDeployment(row, own),
  }))
}

async function checkEndpoint(endpoint: Endpoint, context: Context): Promise<CheckedProvider> {
  const start = performance.now()
  const probe = await probeEndpoint(endpoint, context)
  const common = { provider: endpoint.name, ms: Math.round(performance.now() - start) }
  if (probe === undefined) {
    const message = 'It has no list of models that is free of charge: use --paid.'
    return { ...common, status: 'not checked', message }
  }
  if ('problem' in probe) return { ...common, status: 'failed', message: probe.problem }
  const { models, note } = probe
  if (models.length === 0) return { ...common, status: 'ok', ...(note && { message: note }) }
  const missing = findMissing(endpoint.id, models, context.settings.models)
  return { ...common, status: 'ok', models: models.length, missing_models: missing }
}

/** Undefined if there is nothing that is free of charge. */
async function probeEndpoint(endpoint: Endpoint, context: Context): Promise<Probe | undefined> {
  const { redactor, isPaid } = context
  const { id, row } = endpoint
  const adapter = BY_FORMAT.get(row.format)
  if (adapter === undefined)
    return { problem: `The format ${row.format} is that of a plugin, which this command cannot check.` }
  if (!isConfigured(row)) return { problem: `It has no key: set ${row.key_variable}.` }
  try {
    const url = findListUrl(row)
    const headers = { ...(await fetchCredentials(id, row, url)), ...buildKeyHeaders(row, adapter) }
    if (url !== undefined) return await listModels(url, row, headers, redactor)
    if (isPaid) return await sendRequest(endpoint, context)
    return isCloudAuth(row.auth) ? { models: [], note: FOUND_CREDENTIALS } : undefined
  } catch (error) {
    const baseUrl = row.base_url ?? adapter.baseUrl?.(row)
    return { problem: describeCallError(redactor.error(error), row, baseUrl) }
  }
}

const FOUND_CREDENTIALS = 'It has credentials. Nothing was called: use --paid.'

const CREDENTIALS_TIMEOUT_MS = 30_000

/** Fetches the credentials of a cloud, which is free of charge and shows which step fails. */
async function fetchCredentials(
  id: string,
  row: Row,
  url = new URL('https://localhost/'),
): Promise<Readonly<Record<string, string>>> {
  const authorizer = (await createAuthorizers({ [id]: row })).get(id)
  if (authorizer === undefined) return {}
  const request = { method: 'POST', url, headers: {}, body: Buffer.alloc(0), apiKey: undefined } as const
  const deadline = { signal: AbortSignal.timeout(CREDENTIALS_TIMEOUT_MS) }
  try {
    return await authorizeRequest(authorizer.authorize.bind(authorizer), request, id, deadline)
  } finally {
    authorizer.close()
  }
}

/** Sends a request of one token. */
async function sendRequest(
  { id, row, model: own }: Endpoint,
  { settings, model: given }: Context,
): Promise<Probe> {
  const model = own ?? given ?? findCheapest(id, settings.models)
  if (model === undefined) return { problem: `The catalogue has no model of ${id}. Name one with --model.` }
  const providers = await openProviders({ ...settings, providers: { [id]: row }, models: [] })
  try {
    providers.connect(BY_FORMAT)
    const messages = [{ role: 'user' as const, content: 'Hi' }]
    const request = { model, messages, max_tokens: 1 }
    await providers.byId.get(id)?.client.send(request, { provider: id, model }, NO_CLIENT)
    return { models: [] }
  } finally {
    await providers.close()
  }
}

function findCheapest(provider: string, models: readonly Model[]): string | undefined {
  const own = models.filter((row) => row.provider === provider && (row.operation ?? 'chat') === 'chat')
  return own.toSorted((a, b) => a.price.output - b.price.output)[0]?.id
}

/** Providers list some models with their date only. */
function findMissing(
  provider: string,
  listed: readonly string[],
  models: readonly Model[],
): readonly string[] {
  const known = new Set(listed.flatMap((name) => [name, withoutDate(name)]))
  return models
    .filter((row) => row.provider === provider && ![row.id, ...row.aliases].some((name) => known.has(name)))
    .map(({ id }) => id)
}
