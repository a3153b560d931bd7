import { useState } from 'preact/hooks'
import { post } from '../lib/api.ts'
import { useAction, useData } from '../lib/data.ts'
import { formatCount, formatMs, formatShare } from '../lib/format.ts'
import { href, type PageProps } from '../lib/router.ts'
import type {
  KeySource,
  ProviderCheck,
  ProviderDetails,
  ProviderError,
  ProviderReport,
} from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { type Column, Table } from '../ui/list.tsx'
import { Empty, ErrorMessage, Links, PageLayout, Panel, ResourcePage, ResourceView } from '../ui/page.tsx'
import { Badge, Stat, Time, type Tone } from '../ui/values.tsx'

const REFRESH_MS = 10_000

/** The providers of the settings, and the page of each below them. */
export function ProviderPages({ path: [id] }: PageProps) {
  const report = useData<ProviderReport>('/admin/providers', {}, REFRESH_MS)
  if (id === undefined) return <ProviderList report={report} />
  return (
    <ResourcePage title={id} resource={report}>
      {(data) => {
        const provider = data.providers.find((each) => each.provider === id)
        return provider ? (
          <ProviderPage provider={provider} report={data} />
        ) : (
          <PageLayout title={id}>
            <Empty>
              The settings have no provider {id}. <a href={href('/providers')}>All providers.</a>
            </Empty>
          </PageLayout>
        )
      }}
    </ResourcePage>
  )
}

function ProviderList({ report }: { readonly report: ReturnType<typeof useData<ProviderReport>> }) {
  const { check, results, button } = useChecks(
    report.data?.providers.filter(isKeySet).map(({ provider }) => provider) ?? [],
    'Test all',
  )
  return (
    <PageLayout title="Providers" actions={button}>
      {check}
      <ResourceView resource={report}>
        {(data) => {
          const used = data.providers.filter(({ is_configured }) => is_configured)
          const others = data.providers.filter(({ is_configured }) => !is_configured)
          const open = used.flatMap(({ targets }) => targets.filter(({ state }) => state === 'open'))
          const calls = sum(used, (each) => each.calls)
          const errors = sum(used, (each) => each.errors)
          return (
            <>
              {data.uses_sandbox && <SandboxNote />}
              <dl class="stats">
                <Stat label="In use" value={used.length} note={`of ${data.providers.length}`} />
                <Stat label="Calls in the last hour" value={formatCount(calls)} />
                <Stat label="Failed" value={formatCount(errors)} note={formatShare(errors, calls)} />
                <Stat label="Open circuits" value={open.length} />
              </dl>
              <Period {...data} />
              {results}
              {used.length > 0 && (
                <Table
                  name="providers"
                  columns={PROVIDER_COLUMNS}
                  items={used}
                  keyOf={({ provider }) => provider}
                />
              )}
              {others.length > 0 && <NotConfigured providers={others} />}
            </>
          )
        }}
      </ResourceView>
    </PageLayout>
  )
}

const isKeySet = ({ key }: ProviderDetails) => key.is_set

function sum<Item>(items: readonly Item[], read: (item: Item) => number): number {
  return items.reduce((all, item) => all + read(item), 0)
}

function SandboxNote() {
  return (
    <div class="notice warn">
      <p>
        No provider has a key, so the sandbox answers in place of all of them. Set one, such as{' '}
        <code>OPENAI_API_KEY</code>, in the environment and restart the gateway. A provider can be tested once
        it has a key.
      </p>
    </div>
  )
}

function Period({ requests, is_partial }: ProviderReport) {
  return (
    <p class="muted">
      Calls of {is_partial && 'the newest '}
      {formatCount(requests)} requests of the last hour, by all processes. Circuits are those of the process
      that answers.
    </p>
  )
}

const STATES: Readonly<Record<ProviderDetails['state'], readonly [Tone, string]>> = {
  closed: ['good', 'available'],
  open: ['bad', 'circuit open'],
  half_open: ['warn', 'testing'],
}

function StateBadge({ state }: Pick<ProviderDetails, 'state'>) {
  const [tone, text] = STATES[state]
  return <Badge tone={tone}>{text}</Badge>
}

const providerHref = (provider: string) => href(`/providers/${encodeURIComponent(provider)}`)

interface Figures {
  readonly calls: number
  readonly errors: number
  readonly latency_p50_ms: number | null
  readonly latency_p95_ms: number | null
  readonly last_error: ProviderError | null
}

/** How calls went: of a provider, or of a model there. */
const FIGURE_COLUMNS: readonly Column<Figures>[] = [
  { title: 'Calls', kind: 'number', value: ({ calls }) => calls, format: formatCount },
  {
    title: 'Failed',
    kind: 'number',
    value: ({ errors }) => errors,
    cell: ({ errors, calls }) =>
      errors === 0 ? <span class="muted">{calls === 0 ? '–' : '0 %'}</span> : formatShare(errors, calls),
  },
  { title: 'p50', kind: 'number', value: ({ latency_p50_ms: ms }) => ms, format: formatMs },
  { title: 'p95', kind: 'number', value: ({ latency_p95_ms: ms }) => ms, format: formatMs },
  { title: 'Last error', cell: ({ last_error: error }) => <LastError error={error} /> },
]

function LastError({ error }: { readonly error: ProviderError | null }) {
  if (error === null) return <span class="muted">none</span>
  return (
    <>
      <a href={href(`/requests/${error.request_id}`)}>{error.code}</a>
      <small class="muted block">
        <Time value={error.time} relative />
      </small>
    </>
  )
}

const PROVIDER_COLUMNS: readonly Column<ProviderDetails>[] = [
  {
    title: 'Provider',
    value: ({ provider }) => provider,
    cell: ({ provider, format, deployments }) => (
      <>
        <a href={providerHref(provider)}>{provider}</a>
        <small class="muted block">
          {format}
          {deployments.length > 0 && `, ${deployments.length} deployments`}
        </small>
      </>
    ),
  },
  { title: 'State', value: ({ state }) => STATES[state][1], cell: StateBadge },
  ...FIGURE_COLUMNS,
  { title: 'Key', cell: (provider) => <KeyOfProvider provider={provider} /> },
  {
    title: 'Models',
    kind: 'number',
    value: ({ models }) => models,
    cell: ({ provider, models }) => <a href={href('/models', { provider })}>{formatCount(models)}</a>,
  },
]

const CLOUDS: Readonly<Record<string, string>> = {
  none: 'no key needed',
  aws: 'identity of AWS',
  google: 'identity of Google Cloud',
  entra: 'identity of Entra ID',
}

function KeyOfProvider({ provider: { key, deployments } }: { readonly provider: ProviderDetails }) {
  return deployments.length > 0 ? <span class="muted">by deployment</span> : <Key source={key} />
}

/** Where a key comes from. */
function Key({ source: { type, variable, file, is_set } }: { readonly source: KeySource }) {
  if (type !== 'key') return <>{CLOUDS[type]}</>
  return (
    <>
      <code>{variable}</code> {!is_set && <Badge>not set</Badge>}
      {file !== null && (
        <small class="muted block">
          from the file <code>{file}</code>
        </small>
      )}
    </>
  )
}

function NotConfigured({ providers }: { readonly providers: readonly ProviderDetails[] }) {
  return (
    <Panel title="Not in use">
      <ul class="list">
        {providers.map(({ provider, key, models }) => (
          <li key={provider} class="spread">
            <a href={providerHref(provider)}>{provider}</a>
            <span class="muted">
              set <code>{key.variable}</code> to use its {formatCount(models)} models
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

type CheckResult = ProviderCheck['results'][number]

/** A button that calls providers, and what came out. */
function useChecks(providers: readonly string[], label: string) {
  const [results, setResults] = useState<readonly CheckResult[]>()
  const action = useAction(async () => {
    setResults(undefined)
    const all = await Promise.all(
      providers.map((id) => post<ProviderCheck>(`/admin/providers/${encodeURIComponent(id)}/check`, {})),
    )
    setResults(all.flatMap((each) => each.results))
  })
  const button = hasRole('editor') && providers.length > 0 && (
    <button
      type="button"
      disabled={action.isBusy}
      title="Lists the models of the provider with its key, which is free of charge."
      onClick={() => action.start()}
    >
      {action.isBusy ? 'Testing…' : label}
    </button>
  )
  return {
    button,
    check: action.error && <ErrorMessage error={action.error} retry={() => action.start()} />,
    results: <div role="status">{results && <CheckResults results={results} />}</div>,
  }
}

const OUTCOMES: Readonly<Record<CheckResult['status'], Tone>> = {
  ok: 'good',
  failed: 'bad',
  'not checked': 'plain',
}

function CheckResults({ results }: { readonly results: readonly CheckResult[] }) {
  return (
    <Panel title="Test">
      <ul class="list">
        {results.map(({ provider, status, ms, models, missing_models: missing, message }) => (
          <li key={provider}>
            <div class="spread">
              <span>
                {provider} <Badge tone={OUTCOMES[status]}>{status}</Badge>
              </span>
              <span class="muted">
                {models !== null && `${formatCount(models)} models, `}
                {formatMs(ms)}
              </span>
            </div>
            {message !== null && <small class="block">{message}</small>}
            {missing.length > 0 && (
              <small class="block muted">It does not list these of the catalogue: {missing.join(', ')}</small>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

interface ProviderPageProps {
  readonly provider: ProviderDetails
  readonly report: ProviderReport
}

function ProviderPage({ provider: details, report }: ProviderPageProps) {
  const { provider, format, base_url, is_configured, state, region, balance, models } = details
  const { check, results, button } = useChecks(isKeySet(details) ? [provider] : [], 'Test')
  return (
    <PageLayout title={provider} actions={button}>
      <p>
        {is_configured ? <StateBadge state={state} /> : <Badge>not in use</Badge>}{' '}
        <span class="muted">
          {format}
          {base_url !== null && (
            <>
              {' '}
              at <code>{base_url}</code>
            </>
          )}
        </span>
      </p>
      <Links>
        <a href={href('/providers')}>All providers</a>
        <a href={href('/models', { provider })}>{formatCount(models)} models</a>
        <a href={href('/requests', { provider })}>Requests</a>
      </Links>
      {report.uses_sandbox && <SandboxNote />}
      {check}
      {results}
      <dl class="stats">
        <Stat label="Key" value={<KeyOfProvider provider={details} />} />
        <Stat label="Calls" value={formatCount(details.calls)} note="in the last hour" />
        <Stat
          label="Failed"
          value={formatCount(details.errors)}
          note={formatShare(details.errors, details.calls)}
        />
        <Stat
          label="Latency"
          value={formatMs(details.latency_p50_ms)}
          note={`p95 ${formatMs(details.latency_p95_ms)}`}
        />
        <Stat label="Region" value={region ?? <span class="muted">not stated</span>} />
      </dl>
      <Period {...report} />
      {balance !== null && <Deployments provider={details} balance={balance} />}
      <Targets provider={details} />
    </PageLayout>
  )
}

const BALANCES: Readonly<Record<string, string>> = {
  weighted: 'by weight',
  least_busy: 'to the one with the least in flight',
  latency: 'to the fastest',
}

type ShownDeployment = ProviderDetails['deployments'][number]

const limit = (value: number | null) => (value === null ? <span class="muted">–</span> : formatCount(value))

const DEPLOYMENT_COLUMNS: readonly Column<ShownDeployment>[] = [
  {
    title: 'Deployment',
    value: ({ id }) => id,
    cell: ({ id, base_url, model }) => (
      <>
        {id} {model !== null && <small class="muted">{model}</small>}
        {base_url !== null && <small class="muted block">{base_url}</small>}
      </>
    ),
  },
  { title: 'Key', cell: ({ key }) => <Key source={key} /> },
  { title: 'Region', cell: ({ region }) => region ?? <span class="muted">–</span> },
  { title: 'Weight', kind: 'number', value: ({ weight }) => weight },
  { title: 'In flight', kind: 'number', value: ({ requests_in_flight: count }) => count },
  { title: 'At once', kind: 'number', cell: ({ max_concurrent }) => limit(max_concurrent) },
  { title: 'Requests/min', kind: 'number', cell: ({ requests_per_minute }) => limit(requests_per_minute) },
  { title: 'Tokens/min', kind: 'number', cell: ({ tokens_per_minute }) => limit(tokens_per_minute) },
]

function Deployments({
  provider,
  balance,
}: {
  readonly provider: ProviderDetails
  readonly balance: string
}) {
  return (
    <Panel title="Deployments">
      <p class="muted">Requests go {BALANCES[balance] ?? balance}. Limits hold over all processes.</p>
      <Table columns={DEPLOYMENT_COLUMNS} items={provider.deployments} keyOf={({ id }) => id} />
    </Panel>
  )
}

type ShownTarget = ProviderDetails['targets'][number]

const TARGET_COLUMNS: readonly Column<ShownTarget>[] = [
  {
    title: 'Model',
    value: ({ model, deployment }) => (deployment === null ? model : `${model} at ${deployment}`),
    cell: ({ model, deployment }) => (
      <>
        {model} {deployment !== null && <small class="muted">at {deployment}</small>}
      </>
    ),
  },
  {
    title: 'State',
    cell: ({ state, rest_seconds: rest, rest_reason: reason, affected_callers: affected }) => (
      <>
        <StateBadge state={state} />
        {reason !== null && (
          <small class="muted block">
            {reason === 'circuit' ? 'tried again' : 'rate limit until'} in {rest} s
          </small>
        )}
        {affected > 0 && <small class="muted block">open for {affected} callers</small>}
      </>
    ),
  },
  ...FIGURE_COLUMNS,
]

function Targets({ provider: { targets } }: { readonly provider: ProviderDetails }) {
  const sorted = targets.toSorted((a, b) => b.calls - a.calls)
  return (
    <Panel title="Models that were called">
      {sorted.length === 0 ? (
        <Empty>No model was called in the last hour, or by this process since it started.</Empty>
      ) : (
        <Table
          columns={TARGET_COLUMNS}
          items={sorted}
          keyOf={({ model, deployment }) => `${model} ${deployment}`}
        />
      )}
    </Panel>
  )
}
