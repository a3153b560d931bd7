import {
  data,
  definePlugin,
  type Endpoint,
  endpoint,
  GatewayError,
  type OperatorScope,
  operator,
  settingsOf,
} from '../../core/contract/index.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import type { SettingsReport } from '../../core/pipeline/settings-report.ts'
import { GatewayState } from '../../projections/state.ts'
import { CircuitBreakers } from '../../providers/shared/circuit.ts'
import { Providers } from '../../providers/shared/providers.ts'
import { createLogReader, createLostRaceFinder, toEntryFilter } from '../audit/index.ts'
import { Access } from '../auth/index.ts'
import {
  createLedgerReader,
  createLedgerUnavailableError,
  isRecordInScope,
  Ledger,
  type LedgerReader,
  parseTimeRange,
  requestId,
} from '../ledger/index.ts'
import { RuleScopes } from '../rules/index.ts'
import { explainRequest } from './explain-request.ts'
import { createLiveEndpoint, LIVE_ERROR_CODES, LiveFeed } from './live-endpoint.ts'
import { createNodeEndpoint, NodeProcesses } from './node-endpoints.ts'
import { createProviderEndpoints, ProviderChecks, type ProviderRow } from './provider-endpoints.ts'
import { createRecentCache } from './recent-cache.ts'
import { findRuleChanges } from './rule-changes.ts'
import { ExplainedRequest, OverviewSchema, overviewQuery, StatusSchema } from './schemas.ts'
import { type Range, type Steps, showFigures, showSeries, stepsBetween, stepsOf } from './series.ts'
import type { OverviewServices } from './services.ts'
import { createSettingsEndpoint } from './settings.ts'
import { narrowStatus, readStatus } from './status.ts'

/** Several viewers, who refresh every few seconds, share an answer. */
const SHARED_MS = 5000
const STATUS_SHARED_MS = 15_000

/** Serves what operators look at: figures over time, the state of the gateway, and requests as they come. */
export default definePlugin({
  name: 'overview',
  after: ['ledger'],
  uses: {
    state: GatewayState,
    rules: RuleScopes,
    access: Access,
    ledger: Ledger,
    breakers: CircuitBreakers,
    providers: Providers,
    listed: settingsOf<Readonly<Record<string, ProviderRow>>>('providers'),
    checks: ProviderChecks,
    processes: NodeProcesses,
    process: ProcessServices,
    report: settingsOf<() => SettingsReport>('report'),
  },
  setup(_, { use, logger }) {
    const { state, rules, ledger, providers } = use
    const { stopping, version } = use.process
    const services: OverviewServices = {
      ...state,
      version,
      sessions: use.access.sessions,
      ledger,
      kinds: rules.kinds,
      userHistory: rules.own.history,
      policyHistory: rules.ofPolicies.history,
      breakers: use.breakers,
      providers: {
        ids: Object.keys(use.listed),
        isAvailable: providers.isAvailable,
        usesSandbox: providers.sandboxUrl !== undefined,
      },
    }
    const reader = createLedgerReader(ledger, ledger.flush, logger)
    const logFailure = (reason: string) => logger.warn({ reason }, 'request ledger could not be watched')
    const live = new LiveFeed(
      {
        tail: (after) =>
          ledger.tail(after).catch((cause: unknown) => {
            throw createLedgerUnavailableError('Requests cannot be watched at the moment.', cause)
          }),
      },
      logFailure,
    )
    return {
      errorCodes: LIVE_ERROR_CODES,
      endpoints: [
        createOverviewEndpoint(services, reader),
        createStatusEndpoint(services),
        createLiveEndpoint(live, services, stopping),
        createExplainEndpoint(services, reader),
        createSettingsEndpoint(use.report),
        createNodeEndpoint(use.processes, version),
        ...createProviderEndpoints({
          ...{ ledger, providers, rows: use.listed, breakers: use.breakers, checks: use.checks },
        }),
      ],
      close: async () => live.close(),
    }
  },
})

function createOverviewEndpoint(services: OverviewServices, reader: LedgerReader): Endpoint {
  const findLostRace = createLostRaceFinder(services)
  const logReader = createLogReader(services.log, services.timeline, services.userHistory, findLostRace)
  async function read(steps: Steps, scope?: OperatorScope) {
    const [points, changes] = await Promise.all([
      reader.series({ ...steps, ...(scope && { anyGroup: scope.groups() }) }),
      findRuleChanges(logReader, steps, toEntryFilter(scope, services.policies)),
    ])
    return {
      since: new Date(steps.since).toISOString(),
      until: new Date(steps.until).toISOString(),
      step_seconds: steps.stepMs / 1000,
      totals: showFigures(points),
      series: showSeries(points, steps),
      changes,
    }
  }
  // Steps are the key as a text: objects would differ.
  const readShared = createRecentCache((steps: string) => read(JSON.parse(steps)), SHARED_MS)
  return endpoint({
    method: 'GET',
    path: '/admin/overview',
    access: operator('auditor', 'filtered'),
    operationId: 'readOverview',
    summary: 'Returns requests, errors, blocks, masks, cost and latency over time, and changes of rules.',
    tags: ['admin'],
    query: overviewQuery,
    responses: { 200: { description: 'The figures.', body: data(OverviewSchema) } },
    errors: ['ledger_unavailable'],
    async handle({ query, scope }) {
      const { range, steps } = parseOverviewQuery(query, Date.now())
      const figures = await (scope ? read(steps, scope) : readShared(JSON.stringify(steps)))
      return { status: 200, body: { data: { range, ...figures } } }
    },
  })
}

interface OverviewQuery {
  readonly range?: string
  readonly since?: string
  readonly until?: string
}

/** Throws 400 for a range beside `since` or `until`, and for `until` alone. */
function parseOverviewQuery(
  query: OverviewQuery,
  now: number,
): { readonly range: Range | null; readonly steps: Steps } {
  const { since, until = now } = parseTimeRange(query)
  if (since === undefined) {
    if (query.until !== undefined) throw invalidParameterError('until', 'until needs since.')
    // The schema allows no other ranges.
    const range = (query.range ?? '24h') as Range
    return { range, steps: stepsOf(range, now) }
  }
  if (query.range !== undefined) throw invalidParameterError('range', 'Give either range or since, not both.')
  if (since > until) throw invalidParameterError('since', 'since must not be after until, or now.')
  return { range: null, steps: stepsBetween(since, until) }
}

function createStatusEndpoint(services: OverviewServices): Endpoint {
  const read = createRecentCache(() => readStatus(services), STATUS_SHARED_MS)
  return endpoint({
    method: 'GET',
    path: '/admin/status',
    access: operator('auditor', 'filtered'),
    operationId: 'readStatus',
    summary: 'Returns the state of providers and stores, and what needs attention.',
    tags: ['admin'],
    responses: { 200: { description: 'The state.', body: data(StatusSchema) } },
    async handle({ scope }) {
      const status = await read('status')
      return { status: 200, body: { data: scope ? narrowStatus(status, scope, services) : status } }
    },
  })
}

function createExplainEndpoint(services: OverviewServices, reader: LedgerReader): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/admin/requests/{id}',
    access: operator('auditor', 'filtered'),
    operationId: 'explainRequest',
    summary: 'Returns the record of a request of any user, and its rules as they were then and are now.',
    tags: ['admin'],
    params: { id: requestId },
    responses: { 200: { description: 'The record.', body: data(ExplainedRequest) } },
    errors: ['ledger_unavailable'],
    async handle({ params: { id }, scope }) {
      const record = await reader.find(id)
      if (record !== undefined && (!scope || isRecordInScope(record, scope)))
        return { status: 200, body: { data: await explainRequest(record, services, scope) } }
      throw new GatewayError('not_found', `Request ${id} was not found or is no longer recorded.`)
    },
  })
}
