/** What a share of the cost between the cheapest and the best model buys. */
type CurvePoint = readonly [cost: number, quality: number]

interface FiguresProps {
  readonly figures: Readonly<Record<string, unknown>>
}

/** The figures of a version as a table, and its curve of quality against cost if it has one. */
export function RouterFigures({ figures }: FiguresProps) {
  const points = findCurve(figures)
  const rows = listValues(figures)
  return (
    <>
      {points.length > 1 && <CostCurve points={points} />}
      {rows.length > 0 && (
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
      )}
    </>
  )
}

const WIDTH = 300
const HEIGHT = 150

function CostCurve({ points }: { readonly points: readonly CurvePoint[] }) {
  const [costs, qualities] = [points.map(([cost]) => cost), points.map(([, quality]) => quality)]
  const scale = (values: readonly number[], size: number) => {
    const low = Math.min(...values)
    const span = Math.max(...values) - low || 1
    return (value: number) => 5 + ((value - low) / span) * (size - 10)
  }
  const [x, y] = [scale(costs, WIDTH), scale(qualities, HEIGHT)]
  const path = points.map(([cost, quality], index) => {
    return `${index === 0 ? 'M' : 'L'}${x(cost).toFixed(1)} ${(HEIGHT - y(quality)).toFixed(1)}`
  })
  const range = (values: readonly number[]) =>
    `${formatNumber(Math.min(...values))} to ${formatNumber(Math.max(...values))}`
  return (
    <figure class="chart">
      <figcaption>Quality against cost</figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Quality ${range(qualities)} at costs ${range(costs)}`}
      >
        <path class="line tone-1" d={path.join('')} />
      </svg>
    </figure>
  )
}

function findCurve({ strategies }: FiguresProps['figures']): readonly CurvePoint[] {
  const { version } = (strategies ?? {}) as { version?: { curve?: readonly CurvePoint[] } }
  return version?.curve ?? []
}

/** The values by their paths, without those of the curve. */
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
