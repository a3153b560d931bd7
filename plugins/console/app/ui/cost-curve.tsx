/** What a share of the cost between the cheapest and the best model buys. */
export interface StrategyCurve {
  readonly name: string
  /** Class of the line and of its legend: a color of the style sheet. */
  readonly tone: string
  readonly points: readonly (readonly [cost: number, quality: number])[]
}

const WIDTH = 300
const HEIGHT = 150
const MARGIN = 5

/** Lines of quality against cost, all on one scale. The first one is described in words. */
export function CostCurve({ curves }: { readonly curves: readonly StrategyCurve[] }) {
  const all = curves.flatMap(({ points }) => points)
  const x = createScale(
    all.map(([cost]) => cost),
    WIDTH,
  )
  const y = createScale(
    all.map(([, quality]) => quality),
    HEIGHT,
  )
  const points = curves[0]?.points ?? []
  const quality = formatRange(points.map(([, value]) => value))
  const costs = formatRange(points.map(([cost]) => cost))
  return (
    <figure class="chart">
      <figcaption>
        Quality against cost
        <ul class="legend">
          {curves.map(({ name, tone }) => (
            <li key={name}>
              <i class={`swatch ${tone}`} /> {name}
            </li>
          ))}
        </ul>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Quality ${quality} at costs ${costs}`}>
        {curves.map(({ name, tone, points }) => (
          <path
            key={name}
            class={`line ${tone}`}
            d={points
              .map(([cost, value], at) => {
                return `${at === 0 ? 'M' : 'L'}${x(cost).toFixed(1)} ${(HEIGHT - y(value)).toFixed(1)}`
              })
              .join('')}
          />
        ))}
      </svg>
    </figure>
  )
}

function createScale(values: readonly number[], size: number): (value: number) => number {
  const low = Math.min(...values)
  const span = Math.max(...values) - low || 1
  return (value) => MARGIN + ((value - low) / span) * (size - 2 * MARGIN)
}

function formatRange(values: readonly number[]): string {
  const format = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(3))
  return `${format(Math.min(...values))} to ${format(Math.max(...values))}`
}
