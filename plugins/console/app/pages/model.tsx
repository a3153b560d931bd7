import { formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import type { CatalogueModel, PriceComparison, PriceDifference } from '../lib/schemas.ts'
import { JsonText } from '../ui/json.tsx'
import { type Column, Table } from '../ui/list.tsx'
import { Links, PageLayout, Panel } from '../ui/page.tsx'
import { Badge, Stat, type Tone } from '../ui/values.tsx'

export const keyOf = ({ provider, id }: Pick<CatalogueModel, 'provider' | 'id'>) => `${provider}/${id}`

export function formatPrice(usd: number | null | undefined): string {
  return usd == null ? '–' : formatUsd(usd)
}

/** `above` is a number of tokens. */
export function formatOf(price: string, value: number | null): string {
  return price === 'above' && value !== null ? formatCount(value) : formatPrice(value)
}

const SOURCES: Readonly<Record<CatalogueModel['source'], readonly [Tone, string] | undefined>> = {
  shipped: undefined,
  updated: ['info', 'updated'],
  settings: ['info', 'settings'],
}

const STATES: Readonly<Record<string, string>> = { not_configured: 'no key', retired: 'retired' }

/** What is special about a row. */
export function ModelBadges({ state, source, automatic, retires, changed_prices: changed }: CatalogueModel) {
  const [tone, text] = SOURCES[source] ?? []
  return (
    <>
      {STATES[state] && <Badge>{STATES[state]}</Badge>}{' '}
      {state !== 'retired' && retires && <Badge tone="warn">retires {retires}</Badge>}{' '}
      {!automatic && <Badge>by name only</Badge>} {text && <Badge tone={tone ?? 'plain'}>{text}</Badge>}{' '}
      {changed.length > 0 && <Badge tone="warn">own price</Badge>}
    </>
  )
}

export function Abilities({ capabilities, reasoning, operation }: CatalogueModel) {
  const { tools, images, json } = capabilities
  const names = [
    operation !== 'chat' && operation,
    tools && 'tools',
    images && 'images',
    json === 'schema' ? 'schemas' : json === 'object' && 'JSON',
    reasoning && 'reasoning',
  ].filter((name) => name !== false)
  return <span class="muted">{names.length === 0 ? 'text' : names.join(', ')}</span>
}

/** The other price, if it is another one. Without prices for long requests, those of all count. */
function findOther(price: string, differences: readonly PriceDifference[]): number | null | undefined {
  const [tier] = differences.filter((each) => each.price === 'above')
  if (tier?.there === null && price.startsWith('above')) return null
  return differences.find((each) => each.price === price)?.there
}

interface ModelPageProps {
  readonly model: CatalogueModel
  /** The newest comparison with a list of prices, if there is one. */
  readonly compared: PriceComparison | undefined
}

/** What the catalogue says about a model. */
export function ModelPage({ model, compared }: ModelPageProps) {
  const { provider, id, aliases, context, max_output, quality, latency_ms, expected_latency_ms } = model
  return (
    <PageLayout title={id}>
      <p>
        {provider}
        {aliases.length > 0 && <span class="muted"> · also {aliases.join(', ')}</span>}{' '}
        <ModelBadges {...model} />
      </p>
      <Links>
        <a href={href('/models')}>All models</a>
        <a href={href('/requests', { provider, model: id })}>Requests</a>
        <a href={href('/usage', { by: 'model' })}>Usage by model</a>
      </Links>
      <dl class="stats">
        <Stat label="Context" value={formatCount(context)} note="tokens" />
        <Stat label="Longest reply" value={formatCount(max_output)} note="tokens" />
        <Stat label="Takes" value={<Abilities {...model} />} />
        <Stat label="Quality" value={quality} note="of 100" />
        <Stat
          label="Latency"
          value={formatMs(expected_latency_ms)}
          note={expected_latency_ms === latency_ms ? 'estimated' : `${formatMs(latency_ms)} estimated`}
        />
      </dl>
      <div class="grid">
        <Prices model={model} compared={compared} />
        <DataTerms {...model} />
      </div>
      {Object.keys(model.quirks).length > 0 && (
        <Panel title="Quirks of its API">
          <JsonText label="Quirks" value={model.quirks} />
        </Panel>
      )}
    </PageLayout>
  )
}

interface PriceRow {
  readonly price: string
  readonly here: number | null
  readonly shipped: number | null | undefined
  readonly listed: number | null | undefined
}

function Prices({ model, compared }: ModelPageProps) {
  const { provider, id: model_id } = model
  const listed = compared?.differences.filter((each) => each.provider === provider && each.model === model_id)
  const rows = listPrices(model).map(([price, here]) => ({
    ...{ price, here },
    shipped: findOther(price, model.changed_prices),
    listed: findOther(price, listed ?? []),
  }))
  const columns: readonly Column<PriceRow>[] = [
    {
      title: 'Tokens',
      cell: ({ price }) => (price === 'above' ? 'above (tokens)' : price.replace('_', ' ')),
    },
    { title: 'Here', kind: 'number', cell: ({ price, here }) => formatOf(price, here) },
    ...(model.changed_prices.length > 0 ? [otherColumn('Shipped', ({ shipped }) => shipped)] : []),
    ...(compared ? [otherColumn('List', ({ listed }) => listed)] : []),
  ]
  return (
    <Panel title="Prices">
      <Table columns={columns} items={rows} keyOf={({ price }) => price} />
      <p class="muted">In USD per million tokens.</p>
    </Panel>
  )
}

const otherColumn = (
  title: string,
  read: (row: PriceRow) => number | null | undefined,
): Column<PriceRow> => ({
  title,
  kind: 'number',
  cell: (row) => {
    const other = read(row)
    return other === undefined ? <span class="muted">the same</span> : formatOf(row.price, other)
  },
})

const PRICE_NAMES = ['input', 'cached', 'cache_write', 'output'] as const

/** The prices with those of long requests. What a row leaves out costs as much as input. */
function listPrices({ price }: CatalogueModel): readonly (readonly [string, number])[] {
  const { above, ...usual } = price
  const list = (prices: Readonly<Record<string, unknown>>, prefix: string) =>
    PRICE_NAMES.map((name) => [`${prefix}${name}`, Number(prices[name] ?? prices.input)] as const)
  if (above === undefined) return list(usual, '')
  return [...list(usual, ''), ['above', Number(above.input_tokens)], ...list(above, 'above ')]
}

const TERMS: readonly (readonly [label: string, read: (model: CatalogueModel) => string | null])[] = [
  ['Region', ({ region }) => region],
  ['Zero data retention', ({ zdr }) => yesOrNo(zdr)],
  ['Keeps data for', ({ retention_days: days }) => (days === null ? null : `${days} days`)],
  ['Trains on data', ({ trains_on_data: trains }) => yesOrNo(trains)],
]

const yesOrNo = (value: boolean | null) => (value === null ? null : value ? 'yes' : 'no')

/** What `require` of a rule may demand. */
function DataTerms(model: CatalogueModel) {
  const isStated = TERMS.some(([, read]) => read(model) !== null)
  return (
    <Panel title="Where data goes">
      <ul class="list">
        {TERMS.map(([label, read]) => (
          <li key={label} class="spread">
            <span>{label}</span>
            <span>{read(model) ?? <span class="muted">not stated</span>}</span>
          </li>
        ))}
      </ul>
      {!isStated && (
        <p class="muted">
          A rule with <code>require</code> leaves this model out. State what your contract says in the
          settings, at the model, its provider or a deployment.
        </p>
      )}
    </Panel>
  )
}
