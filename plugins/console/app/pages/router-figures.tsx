import { CostCurve, type StrategyCurve } from '../ui/cost-curve.tsx'

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
export function RouterFigures({ figures }: FiguresProps) {
  const strategies = Object.entries((figures.strategies ?? {}) as Readonly<Record<string, StrategyRow>>)
  const curves = strategies.flatMap(([name, { curve = [] }]): StrategyCurve[] =>
    LINES[name] !== undefined && curve.length > 1 ? [{ name, tone: LINES[name], points: curve }] : [],
  )
  const rows = listValues(figures)
  return (
    <>
      {curves.length > 0 && <CostCurve curves={curves} />}
      {strategies.length > 0 && <StrategyTable strategies={strategies} />}
      <PartTable title="Group" parts={figures.by_group} />
      <PartTable title="Prompts with similar words" parts={figures.by_cluster} />
      {rows.length > 0 && (
        <details>
          <summary>All figures</summary>
          <table>
            <thead>
              <tr>
                <th>Figure</th>
                <th>Value</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(([name, value]) => (
                <tr key={name}>
                  <td>{name}</td>
                  <td>{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </>
  )
}

function StrategyTable({ strategies }: { readonly strategies: readonly (readonly [string, StrategyRow])[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th>Choice by</th>
          <th>Quality</th>
          <th>APGR</th>
          <th>The version is above it by</th>
        </tr>
      </thead>
      <tbody>
        {strategies.map(([name, { quality, apgr, gain }]) => (
          <tr key={name}>
            <td>{name}</td>
            <td>{formatInterval(quality)}</td>
            <td>{apgr == null ? '–' : formatNumber(apgr)}</td>
            <td>{formatInterval(gain)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function PartTable({ title, parts }: { readonly title: string; readonly parts: unknown }) {
  const rows = (parts ?? []) as readonly PartRow[]
  if (rows.length === 0) return null
  return (
    <table>
      <thead>
        <tr>
          <th>{title}</th>
          <th>Prompts</th>
          <th>The version is above the best baseline by</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, prompts, gain }) => (
          <tr key={name}>
            <td>{name}</td>
            <td>{prompts}</td>
            <td>{formatInterval(gain)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
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
