import { signal } from '@preact/signals'
import { post } from '../lib/api.ts'
import { useAction, useData } from '../lib/data.ts'
import { formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { useRangeData } from '../lib/range.ts'
import { href, modelHref, type PageProps } from '../lib/router.ts'
import type {
  Catalogue,
  CatalogueModel,
  PriceComparison,
  PriceDifference,
  RoutingMode,
  Usage,
} from '../lib/schemas.ts'
import { hasRole } from '../lib/session.ts'
import { chosenFilters, type Filter, Filters } from '../ui/filters.tsx'
import { type Column, Table } from '../ui/list.tsx'
import { Empty, ErrorMessage, Loading, PageLayout, Panel, ResourcePage, ResourceView } from '../ui/page.tsx'
import { RangePicker } from '../ui/range-picker.tsx'
import { Badge, type Tone } from '../ui/values.tsx'
import { Abilities, formatOf, formatPrice, keyOf, ModelBadges, ModelPage } from './model.tsx'

/** The catalogue, and the page of each model below it. */
export function ModelPages({ path: [provider, id] }: PageProps) {
  const catalogue = useData<Catalogue>('/admin/models')
  if (provider === undefined || id === undefined) return <ModelList catalogue={catalogue} />
  return (
    <ResourcePage title={id} resource={catalogue}>
      {({ models }) => {
        const model = models.find((each) => each.provider === provider && each.id === id)
        return model ? (
          <ModelPage model={model} compared={comparison.value} />
        ) : (
          <PageLayout title={id}>
            <Empty>
              The catalogue has no model {provider}/{id}. <a href={href('/models')}>All models.</a>
            </Empty>
          </PageLayout>
        )
      }}
    </ResourcePage>
  )
}

/** The newest comparison with a list of prices, until the window is closed. */
const comparison = signal<PriceComparison | undefined>(undefined)

const forgetComparison = () => {
  comparison.value = undefined
}

const STATES: Readonly<Record<CatalogueModel['state'], string>> = {
  available: 'available',
  not_configured: 'provider without a key',
  retired: 'retired',
}

const FILTERS: readonly Filter[] = [
  { name: 'q', label: 'Model', type: 'text' },
  { name: 'operation', label: 'For', options: [['', 'all'], 'chat', 'embeddings', 'moderation'] },
  { name: 'state', label: 'State', options: [['', 'all'], ...Object.entries(STATES)] },
  {
    name: 'prices',
    label: 'Prices',
    options: [
      ['', 'all'],
      ['own', 'not as shipped'],
      ['differ', 'not as in the list'],
    ],
  },
]

interface ModelListProps {
  readonly catalogue: ReturnType<typeof useData<Catalogue>>
}

function ModelList({ catalogue }: ModelListProps) {
  const compare = useAction(async () => {
    comparison.value = await post<PriceComparison>('/admin/models/compare', {})
  })
  const { data } = catalogue
  return (
    <PageLayout
      title="Models"
      actions={
        <>
          {hasRole('editor') && data && (
            <button
              type="button"
              disabled={compare.isBusy}
              title={`Reads ${data.price_list} now. Nothing is changed.`}
              onClick={() => compare.start()}
            >
              {compare.isBusy ? 'Comparing…' : `Compare with ${hostOf(data.price_list)}`}
            </button>
          )}
          <RangePicker />
        </>
      }
    >
      {compare.error && <ErrorMessage error={compare.error} retry={() => compare.start()} />}
      <div role="status">
        {data && <CatalogueNote {...data} />}
        {comparison.value && <Comparison {...comparison.value} />}
      </div>
      <ResourceView resource={catalogue}>
        {(shown) => (
          <>
            <ModelTable {...shown} />
            <Modes modes={shown.modes} />
          </>
        )}
      </ResourceView>
    </PageLayout>
  )
}

/** The list's host, or the name of its file. */
function hostOf(priceList: string): string {
  return URL.canParse(priceList) ? new URL(priceList).host : (priceList.split('/').at(-1) ?? priceList)
}

function CatalogueNote({ models, updated }: Catalogue) {
  const own = models.filter(({ source }) => source === 'settings').length
  return (
    <p class="muted">
      {formatCount(models.length)} models, {formatCount(own)} of them from the settings.{' '}
      {updated
        ? `Prices were updated on ${updated.date} from ${updated.source}.`
        : 'Prices are those of the release; "signalbox models update" brings them up to date.'}{' '}
      In USD per million tokens.
    </p>
  )
}

/** Prices that differ from those of the list, by model. */
function findDifferences(): ReadonlyMap<string, readonly PriceDifference[]> {
  const byModel = new Map<string, PriceDifference[]>()
  for (const each of comparison.value?.differences ?? []) {
    const key = `${each.provider}/${each.model}`
    if (each.price !== '') byModel.set(key, [...(byModel.get(key) ?? []), each])
  }
  return byModel
}

const ORDER: readonly CatalogueModel['state'][] = ['available', 'not_configured', 'retired']

function ModelTable({ models }: Catalogue) {
  const usage = useRangeData<readonly Usage[]>('/admin/usage', { group_by: ['provider', 'model'] })
  const used = new Map(usage.data?.map((row) => [`${row.provider}/${row.model}`, row]))
  const differences = findDifferences()
  const providers = [...new Set(models.map(({ provider }) => provider))].sort()
  const filters = [
    ...FILTERS.slice(0, 1),
    { name: 'provider', label: 'Provider', options: [['', 'all'], ...providers] } satisfies Filter,
    ...FILTERS.slice(1),
  ]
  const { q = '', provider, operation, state, prices } = chosenFilters(filters)
  const text = q.toLowerCase()
  const shown = models.filter(
    (model) =>
      [model.id, ...model.aliases].some((name) => name.toLowerCase().includes(text)) &&
      (provider === '' || model.provider === provider) &&
      (operation === '' || model.operation === operation) &&
      (state === '' || model.state === state) &&
      (prices !== 'own' || model.changed_prices.length > 0) &&
      (prices !== 'differ' || differences.has(keyOf(model))),
  )
  const sorted = shown.toSorted(
    (a, b) =>
      (used.get(keyOf(b))?.requests ?? 0) - (used.get(keyOf(a))?.requests ?? 0) ||
      ORDER.indexOf(a.state) - ORDER.indexOf(b.state) ||
      b.quality - a.quality,
  )
  return (
    <>
      <Filters filters={filters} />
      {usage.error && <ErrorMessage error={usage.error} retry={usage.reload} />}
      {sorted.length === 0 && (
        <Empty>
          {prices === 'differ' && comparison.value === undefined
            ? 'Compare the prices first, with the button above.'
            : 'No model matches. Choose fewer filters.'}
        </Empty>
      )}
      {/* Usage decides about the order. */}
      {sorted.length > 0 && usage.data === undefined && !usage.error && <Loading />}
      {sorted.length > 0 && (usage.data || usage.error) && (
        <Table name="models" columns={modelColumns(used, differences)} items={sorted} keyOf={keyOf} />
      )}
    </>
  )
}

const modelColumns = (
  used: ReadonlyMap<string, Usage>,
  differences: ReturnType<typeof findDifferences>,
): readonly Column<CatalogueModel>[] => [
  {
    title: 'Model',
    value: keyOf,
    cell: (model) => (
      <>
        <a href={modelHref(model)}>{model.id}</a>
        <small class="muted block">
          {model.provider} <ModelBadges {...model} />
        </small>
      </>
    ),
  },
  {
    title: 'Input',
    kind: 'number',
    value: ({ price }) => price.input,
    cell: (model) => <PriceCell {...{ model, differences }} price="input" />,
  },
  { title: 'Cached', kind: 'number', value: ({ price }) => price.cached ?? price.input, format: formatPrice },
  {
    title: 'Output',
    kind: 'number',
    value: ({ price }) => price.output,
    cell: (model) => <PriceCell {...{ model, differences }} price="output" />,
  },
  { title: 'Context', kind: 'number', value: ({ context }) => context, format: formatCount },
  { title: 'Takes', cell: Abilities },
  { title: 'Quality', kind: 'number', value: ({ quality }) => quality },
  {
    title: 'Latency',
    kind: 'number',
    value: ({ expected_latency_ms: ms }) => ms,
    cell: ({ expected_latency_ms: expected, latency_ms: stated }) => (
      <span title={expected === stated ? 'An estimate of the catalogue.' : 'Measured by this process.'}>
        {formatMs(expected)}
      </span>
    ),
  },
  {
    title: 'Requests',
    kind: 'number',
    value: (model) => used.get(keyOf(model))?.requests ?? 0,
    total: 'sum',
    cell(model) {
      const requests = used.get(keyOf(model))?.requests ?? 0
      if (requests === 0) return <span class="muted">–</span>
      const query = { model: model.id, provider: model.provider }
      return <a href={href('/requests', query)}>{formatCount(requests)}</a>
    },
  },
  {
    title: 'Cost',
    kind: 'number',
    value: (model) => used.get(keyOf(model))?.cost_usd ?? 0,
    format: formatUsd,
    total: 'sum',
    cell(model) {
      const row = used.get(keyOf(model))
      return row ? formatUsd(row.cost_usd) : <span class="muted">–</span>
    },
  },
]

interface PriceCellProps {
  readonly model: CatalogueModel
  readonly price: 'input' | 'output'
  readonly differences: ReturnType<typeof findDifferences>
}

/** A price, with that of the list if it is another one. */
function PriceCell({ model, price, differences }: PriceCellProps) {
  const other = differences.get(keyOf(model))?.find((each) => each.price === price)
  return (
    <>
      {formatPrice(model.price[price])}
      {other && <small class="muted block">list: {formatPrice(other.there)}</small>}
    </>
  )
}

const CHANGES: Readonly<Record<string, Tone>> = { dearer: 'bad', cheaper: 'good' }

const DIFFERENCE_COLUMNS: readonly Column<PriceDifference>[] = [
  {
    title: 'Model',
    cell: ({ provider, model }) => (
      <>
        <a href={modelHref({ provider, id: model })}>{model}</a>
        <small class="muted block">{provider}</small>
      </>
    ),
  },
  { title: 'Price', cell: ({ price }) => price.replace('_', ' ') },
  { title: 'Here', kind: 'number', cell: ({ price, here }) => formatOf(price, here) },
  { title: 'In the list', kind: 'number', cell: ({ price, there }) => formatOf(price, there) },
  {
    title: 'Difference',
    cell: ({ change, price, here, there }) => (
      <Badge tone={CHANGES[change] ?? 'plain'}>
        {change}
        {here && there && price !== 'above' ? ` ${formatShare(here, there)}` : ''}
      </Badge>
    ),
  },
]

function formatShare(here: number, there: number): string {
  const percent = Math.round((there / here - 1) * 1000) / 10
  return `${percent > 0 ? '+' : ''}${percent} %`
}

function Comparison({ source, compared, differences }: PriceComparison) {
  const priced = differences.filter(({ price }) => price !== '')
  const missing = differences.filter(({ change }) => change === 'missing there')
  return (
    <Panel
      title="Compared prices"
      actions={
        <button type="button" class="quiet" onClick={forgetComparison}>
          Close
        </button>
      }
    >
      <p>
        Models that {source} has, too: {formatCount(compared)}. Prices that differ:{' '}
        {formatCount(priced.length)}.{' '}
        {missing.length > 0 && (
          <span class="muted">Models that are not in the list: {formatCount(missing.length)}.</span>
        )}
      </p>
      {priced.length > 0 && (
        <>
          <Table
            columns={DIFFERENCE_COLUMNS}
            items={priced}
            keyOf={({ provider, model, price }) => `${provider}/${model}/${price}`}
          />
          <p>
            To apply the list, run <code>signalbox models update {source}</code> on each machine, or set a
            price of your own under <code>models</code> in the settings.
          </p>
        </>
      )}
    </Panel>
  )
}

const MODE_COLUMNS: readonly Column<RoutingMode>[] = [
  {
    title: 'Mode',
    cell: ({ mode, aliases }) => (
      <>
        <code>auto:{mode}</code> <small class="muted">{aliases.join(', ')}</small>
      </>
    ),
  },
  ...(['cost', 'quality', 'latency'] as const).map(
    (name): Column<RoutingMode> => ({
      title: name,
      kind: 'number',
      cell: (mode) => `${Math.round((mode[name] / (mode.cost + mode.quality + mode.latency)) * 100)} %`,
    }),
  ),
]

function Modes({ modes }: { readonly modes: readonly RoutingMode[] }) {
  return (
    <Panel title="Weights of automatic routing">
      <p class="muted">
        What a mode looks at when it chooses a model, under <code>modes</code> in the settings.
      </p>
      <Table columns={MODE_COLUMNS} items={modes} keyOf={({ mode }) => mode} />
    </Panel>
  )
}
