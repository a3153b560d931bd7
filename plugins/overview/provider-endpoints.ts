import {
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  operator,
  service,
  Type,
} from '../../core/contract/index.ts'
import { NoFields } from '../../core/http/schemas.ts'
import type { CircuitBreakers } from '../../providers/shared/circuit.ts'
import type { Deployment } from '../../providers/shared/deployments.ts'
import type { Providers } from '../../providers/shared/providers.ts'
import { createLedgerUnavailableError, type Ledger } from '../ledger/index.ts'
import { Calls, type RecentCalls, readRecentCalls, targetKey } from './provider-calls.ts'
import { ProviderCheck, ProvidersSchema } from './provider-schemas.ts'
import { createRecentCache } from './recent-cache.ts'

/** A row of the settings, as far as it is shown. Keys are only looked at for whether they are there. */
export interface ProviderRow extends KeyFields {
  readonly format: string
  readonly base_url?: string | undefined
  readonly region?: string | undefined
  readonly balance?: string | undefined
  readonly deployments?: readonly DeploymentRow[] | undefined
}

interface KeyFields {
  readonly auth?: unknown
  readonly key_variable: string
  readonly key_file?: string | undefined
  readonly api_key?: string | undefined
}

interface DeploymentRow {
  readonly id: string
  readonly base_url?: string | undefined
  readonly key?: string | undefined
  readonly key_file?: string | undefined
  readonly api_key?: string | undefined
  readonly model?: string | undefined
  readonly region?: string | undefined
  readonly weight?: number | undefined
  readonly requests_per_minute?: number | undefined
  readonly tokens_per_minute?: number | undefined
  readonly max_concurrent?: number | undefined
}

export interface CheckedProvider {
  readonly provider: string
  readonly status: 'ok' | 'failed' | 'not checked'
  readonly ms: number
  readonly models?: number
  readonly missing_models?: readonly string[]
  readonly message?: string
}

/** Calls providers as `signalbox providers check` does. The gateway provides it. */
export interface ProviderChecks {
  /** Free of charge. Never rejects. */
  check(provider: string): Promise<readonly CheckedProvider[]>
}

export const ProviderChecks = service<ProviderChecks>('providers.checks')

interface Target {
  readonly model: string
  readonly deployment?: string | undefined
}

interface ProviderServices {
  readonly rows: Readonly<Record<string, ProviderRow>>
  readonly providers: Pick<Providers, 'byId' | 'catalog' | 'isAvailable' | 'sandboxUrl'>
  readonly breakers: Pick<CircuitBreakers, 'circuits' | 'callerCircuits'>
  readonly ledger: Pick<Ledger, 'flush' | 'list'>
  readonly checks: ProviderChecks
}

/** Several viewers, who refresh every few seconds, share what was read of the ledger. */
const SHARED_MS = 5000

export function createProviderEndpoints(services: ProviderServices): readonly Endpoint[] {
  const readCalls = createRecentCache(
    (_: 'calls') =>
      readRecentCalls(services.ledger).catch((cause: unknown) => {
        throw createLedgerUnavailableError('Calls cannot be read at the moment. Retry later.', cause)
      }),
    SHARED_MS,
  )
  return [
    endpoint({
      method: 'GET',
      path: '/admin/providers',
      access: operator('auditor'),
      operationId: 'listProviders',
      summary: 'Returns the providers with their deployments, circuits, keys by name, and recent calls.',
      tags: ['admin'],
      responses: { 200: { description: 'The providers.', body: data(ProvidersSchema) } },
      errors: ['ledger_unavailable'],
      handle: async () => ({
        status: 200,
        body: { data: showProviders(services, await readCalls('calls')) },
      }),
    }),
    endpoint({
      method: 'POST',
      path: '/admin/providers/{provider}/check',
      access: operator('editor'),
      params: {
        provider: Type.String({ minLength: 1, description: 'Id of a provider.', examples: ['openai'] }),
      },
      operationId: 'checkProvider',
      summary: 'Calls a provider free of charge, and returns what is wrong with its address or key.',
      tags: ['admin'],
      body: NoFields,
      examples: { empty: {} },
      responses: { 200: { description: 'What came out.', body: data(ProviderCheck) } },
      errors: ['not_found'],
      async handle({ params: { provider } }) {
        if (!Object.hasOwn(services.rows, provider))
          throw new GatewayError('not_found', `Provider ${provider} is not in the settings.`)
        const results = (await services.checks.check(provider)).map((each) => ({
          ...{ models: null, message: null },
          ...each,
          missing_models: [...(each.missing_models ?? [])],
        }))
        return { status: 200, body: { data: { results } } }
      },
    }),
  ]
}

function showProviders(services: ProviderServices, recent: RecentCalls) {
  const { rows, providers } = services
  return {
    uses_sandbox: providers.sandboxUrl !== undefined,
    since: recent.since,
    requests: recent.requests,
    is_partial: recent.isPartial,
    providers: Object.entries(rows).map(([id, row]) => showProvider(id, row, services, recent)),
  }
}

function showProvider(id: string, row: ProviderRow, services: ProviderServices, recent: RecentCalls) {
  const { providers } = services
  const targets = showTargets(id, services, recent)
  const states = targets.map(({ state }) => state)
  const pool = providers.byId.get(id)?.deployments
  return {
    provider: id,
    format: row.format,
    base_url: withoutCredentials(row.base_url),
    is_configured: providers.isAvailable(id),
    state: states.includes('open') ? 'open' : states.includes('half_open') ? 'half_open' : 'closed',
    key: showKey(row, row.deployments),
    region: row.region ?? null,
    balance: row.deployments ? (row.balance ?? 'weighted') : null,
    models: providers.catalog.models.filter(({ provider }) => provider === id).length,
    ...(recent.byProvider.get(id) ?? new Calls()).show(),
    deployments: (row.deployments ?? []).map((own) =>
      showDeployment(
        own,
        row,
        pool?.members.find((member) => member.id === own.id),
      ),
    ),
    targets,
  }
}

function showDeployment(own: DeploymentRow, row: ProviderRow, member: Deployment | undefined) {
  const { id, base_url, model = null, region = null, weight = 1 } = own
  const { requests_per_minute = null, tokens_per_minute = null, max_concurrent = null } = own
  const key = own.key === undefined ? row : { key_variable: own.key, key_file: own.key_file }
  return {
    ...{ id, base_url: withoutCredentials(base_url), model, region, weight },
    ...{ requests_per_minute, tokens_per_minute, max_concurrent },
    requests_in_flight: member?.requestsInFlight ?? 0,
    key: showKey({ ...key, auth: row.auth, api_key: own.api_key }),
  }
}

const CLOUDS = ['aws', 'google', 'entra', 'none'] as const

function showKey(
  { auth, key_variable, key_file, api_key }: KeyFields,
  deployments?: readonly DeploymentRow[] | undefined,
) {
  const type = CLOUDS.find((cloud) => cloud === auth)
  if (type !== undefined) return { type, variable: null, file: null, is_set: true }
  const isSet = api_key !== undefined || deployments?.some((own) => own.api_key !== undefined) === true
  return { type: 'key' as const, variable: key_variable, file: key_file ?? null, is_set: isSet }
}

/** Addresses may have a password, and a query that is secret. */
function withoutCredentials(address: string | undefined): string | null {
  if (address === undefined) return null
  // An address may have a place for the model, which a URL would escape.
  return address.replace(/^([a-z]+:\/\/)[^/?#]*@/i, '$1').replace(/[?#].*$/, '')
}

/** Whose circuits and failures are those of nobody in particular. */
const NO_CALLER = -1

function showTargets(id: string, { breakers }: ProviderServices, recent: RecentCalls) {
  const circuits = [...breakers.circuits()].filter(({ provider }) => provider === id)
  const ofCallers = [...breakers.callerCircuits()].filter(({ provider }) => provider === id)
  const byKey = new Map(
    circuits.map((circuit) => [targetKey(id, circuit.model, circuit.deployment), circuit] as const),
  )
  const called = [...recent.byTarget].filter(([, { provider }]) => provider === id)
  const targets = new Map<string, Target>([...byKey, ...called])
  return [...targets].map(([key, { model, deployment }]) => {
    const circuit = byKey.get(key)
    const { circuitMs = 0, rateLimitMs = 0 } = circuit?.rest(NO_CALLER) ?? {}
    const isSame = (other: Target) => other.model === model && other.deployment === deployment
    return {
      model,
      deployment: deployment ?? null,
      state: circuit?.state ?? 'closed',
      rest_seconds: Math.ceil(Math.max(circuitMs, rateLimitMs) / 1000),
      rest_reason: circuitMs > 0 ? 'circuit' : rateLimitMs > 0 ? 'rate_limit' : null,
      affected_callers: ofCallers.filter(isSame).length,
      ...(recent.byTarget.get(key)?.calls ?? new Calls()).show(),
    }
  })
}
