import { send } from '../lib/api.ts'
import { useData } from '../lib/data.ts'
import { href } from '../lib/router.ts'
import type { Router, RouterReport } from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { CostCurve, type StrategyCurve } from '../ui/charts.tsx'
import { ChangeButton } from '../ui/dialogs.tsx'
import { type Column, Table } from '../ui/list.tsx'
import { Empty, PageLayout, Panel, ResourceView, useAddress } from '../ui/page.tsx'
import { Badge, Time } from '../ui/values.tsx'

/** The versions of learned routers: how they were judged, and which of them decides. */
export function RoutingPage() {
  const routers = useData<readonly Router[]>('/admin/routers')
  const report = useData<RouterReport>('/admin/routers/report')
  const change = (path: string) => (_: object, reason: string) =>
    send('POST', `/admin/routers/${path}`, {}, { reason }).then(() => {
      routers.reload()
      report.reload()
    })
  const actions = hasRole('editor') && (
    <>
      <ChangeButton label="Roll back" title="Roll back?" onSave={change('rollback')}>
        <p>The version that was active before decides again, or the constants of the catalogue.</p>
      </ChangeButton>
      <ChangeButton
        label="Train a version"
        kind="primary"
        title="Train a version?"
        action="Train"
        onSave={change('train')}
      >
        <p>
          Trains from the ratings of the last days. The new version does not decide until it is activated.
        </p>
      </ChangeButton>
    </>
  )
  return (
    <PageLayout title="Routing" actions={actions}>
      <p class="muted">
        The learned router, which chooses a model for requests with <code>auto</code>. To send requests to
        certain models, or to split them between models, add a routing rule to a{' '}
        <a href={href('/policies')}>policy</a> or a <a href={href('/users')}>user</a>.
      </p>
      <ResourceView resource={report}>{({ verdict }) => <p>{verdict}</p>}</ResourceView>
      <ResourceView resource={routers}>
        {(list) => (
          <>
            {list.length === 0 && (
              <Empty>Set routing.learned to shadow to collect ratings, and train a version from them.</Empty>
            )}
            {list.map((router) => (
              <RouterPanel
                key={router.version}
                router={router}
                onActivate={change(`${router.version}/activate`)}
              />
            ))}
          </>
        )}
      </ResourceView>
    </PageLayout>
  )
}

interface RouterPanelProps {
  readonly router: Router
  readonly onActivate: (body: object, reason: string) => Promise<unknown>
}

function RouterPanel({ router, onActivate }: RouterPanelProps) {
  const { version, is_active } = router
  const address = useAddress<HTMLDivElement>('version', String(version))
  const activate = hasRole('editor') && !is_active && (
    <ChangeButton label="Activate" kind="quiet" title={`Activate version ${version}?`} onSave={onActivate}>
      <p>It decides about the next request if routing.learned is on.</p>
    </ChangeButton>
  )
  return (
    <div {...address}>
      <Panel title={`Version ${version}`} actions={activate}>
        <RouterSummary router={router} />
      </Panel>
    </div>
  )
}

function RouterSummary({ router }: { readonly router: Router }) {
  const ratings = router.models.map(({ model, ratings }) => `${model} (${ratings})`).join(', ')
  return (
    <>
      <p>
        {router.is_active && <Badge>active</Badge>} For{' '}
        {router.group_id === null ? 'everyone' : `group ${router.group_id}`}, trained{' '}
        <Time value={router.trained_at} /> from ratings of {ratings || 'no model'}
        {describeRaters(router.trained_from)}. <a href={href('/audit', { kind: 'router' })}>Changes</a> ·{' '}
        <a href={href('/routing', { version: router.version })}>Address</a>
      </p>
      <RouterFigures figures={router.figures} />
    </>
  )
}

/** Shows if one user gave most of the ratings. Imported ratings have no user. */
function describeRaters(from: Router['trained_from']): string {
  const { raters, largest_rater_share } = from as { raters?: number; largest_rater_share?: number }
  if (!raters) return ''
  const share = Math.round((largest_rater_share ?? 0) * 100)
  return `, of ${raters} ${raters === 1 ? 'user' : 'users'}, of whom one gave ${share} % of all`
}

interface Interval {
  readonly value: number
  readonly low: number
  readonly high: number
}

interface StrategyRow {
  readonly quality?: Interval
  readonly apgr?: number | null
  readonly gain?: Interval
  readonly curve?: StrategyCurve['points']
}

interface PartRow {
  readonly name: string
  readonly prompts: number
  readonly gain: Interval
}

interface FiguresProps {
  readonly figures: Readonly<Record<string, unknown>>
}

/** Each with its line in the chart. What could be reached with foresight is far above all of them. */
const LINES: Readonly<Record<string, string>> = {
  version: 'tone-1',
  length: 'tone-2',
  catalogue: 'tone-3',
  constants: 'tone-4',
}

/** How a version was judged: its curve beside those of the baselines, and tables with intervals. */
function RouterFigures({ figures }: FiguresProps) {
  const strategies = Object.entries((figures.strategies ?? {}) as Readonly<Record<string, StrategyRow>>)
  const curves = strategies.flatMap(([name, { curve = [] }]): StrategyCurve[] =>
    LINES[name] !== undefined && curve.length > 1 ? [{ name, tone: LINES[name], points: curve }] : [],
  )
  const rows = listValues(figures)
  return (
    <>
      {curves.length > 0 && <CostCurve curves={curves} />}
      {strategies.length > 0 && (
        <Table columns={STRATEGY_COLUMNS} items={strategies} keyOf={([name]) => name} />
      )}
      <PartTable title="Group" parts={figures.by_group} />
      <PartTable title="Prompts with similar words" parts={figures.by_cluster} />
      {rows.length > 0 && (
        <details>
          <summary>All figures</summary>
          <Table columns={FIGURE_COLUMNS} items={rows} keyOf={([name]) => name} />
        </details>
      )}
    </>
  )
}

type StrategyEntry = readonly [name: string, row: StrategyRow]
type Figure = readonly [name: string, value: string]

const FIGURE_COLUMNS: readonly Column<Figure>[] = [
  { title: 'Figure', cell: ([name]) => name },
  { title: 'Value', cell: ([, value]) => value },
]

const STRATEGY_COLUMNS: readonly Column<StrategyEntry>[] = [
  { title: 'Choice by', cell: ([name]) => name },
  { title: 'Quality', cell: ([, { quality }]) => formatInterval(quality) },
  { title: 'APGR', cell: ([, { apgr }]) => (apgr == null ? '–' : formatNumber(apgr)) },
  { title: 'The version is above it by', cell: ([, { gain }]) => formatInterval(gain) },
]

function PartTable({ title, parts }: { readonly title: string; readonly parts: unknown }) {
  const rows = (parts ?? []) as readonly PartRow[]
  if (rows.length === 0) return null
  const columns: readonly Column<PartRow>[] = [
    { title, cell: ({ name }) => name },
    { title: 'Prompts', cell: ({ prompts }) => prompts },
    { title: 'The version is above the best baseline by', cell: ({ gain }) => formatInterval(gain) },
  ]
  return <Table columns={columns} items={rows} keyOf={({ name }) => name} />
}

function formatInterval(interval: Interval | undefined): string {
  if (interval === undefined) return '–'
  const { value, low, high } = interval
  return `${formatNumber(value)} (${formatNumber(low)} to ${formatNumber(high)})`
}

/** The values by their paths, without those of curves. */
function listValues(figures: FiguresProps['figures'], path = ''): readonly (readonly [string, string])[] {
  return Object.entries(figures).flatMap(([name, value]) => {
    if (name === 'curve') return []
    if (typeof value === 'object' && value !== null)
      return listValues(value as FiguresProps['figures'], `${path}${name}.`)
    return [[path + name, typeof value === 'number' ? formatNumber(value) : String(value)] as const]
  })
}

function formatNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(3)
}
