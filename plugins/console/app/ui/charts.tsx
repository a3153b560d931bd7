import { useState } from 'preact/hooks'
import { toLinePath } from '../lib/figures.ts'
import { formatTime } from '../lib/format.ts'

interface Series {
  readonly name: string
  /** Class of the line and of its legend: a color of the style sheet. */
  readonly tone: string
  readonly values: readonly (number | null)[]
}

interface ChartMark {
  readonly time: string
  readonly label: string
}

interface ChartProps {
  readonly title: string
  readonly times: readonly string[]
  readonly series: readonly Series[]
  readonly marks?: readonly ChartMark[]
  readonly format: (value: number) => string
}

const WIDTH = 600
const HEIGHT = 150

/** Lines over time, with marks of changes. The values under the pointer are in the legend. */
export function LineChart({ title, times, series, marks = [], format }: ChartProps) {
  const [hovered, setHovered] = useState<number>()
  const max = Math.max(...series.flatMap(({ values }) => values.map((value) => value ?? 0)), 0) || 1
  const x = (index: number) => (times.length < 2 ? 0 : (index / (times.length - 1)) * WIDTH)
  const y = (value: number) => HEIGHT - 4 - (value / max) * (HEIGHT - 14)
  const [from, to] = [Date.parse(times[0] ?? ''), Date.parse(times.at(-1) ?? '')]
  // A change during the last step is marked at its end.
  const markX = (time: string) => Math.min(WIDTH - 1, ((Date.parse(time) - from) / (to - from || 1)) * WIDTH)
  const shown = marks.filter(({ time }) => Date.parse(time) >= from)
  const index = hovered ?? times.length - 1
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <ul class="legend">
          {series.map(({ name, tone, values }) => (
            <li key={name}>
              <i class={`swatch ${tone}`} /> {name}{' '}
              {hovered !== undefined && <b>{values[index] == null ? '–' : format(values[index] ?? 0)}</b>}
            </li>
          ))}
          {hovered !== undefined && <li class="muted">{formatTime(times[index] ?? 0)}</li>}
        </ul>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={describe(title, series, format)}
        onMouseMove={(event) => {
          const { left, width } = event.currentTarget.getBoundingClientRect()
          setHovered(Math.round(((event.clientX - left) / width) * (times.length - 1)))
        }}
        onMouseLeave={() => setHovered(undefined)}
      >
        {[0.25, 0.5, 0.75, 1].map((part) => (
          <line key={part} class="grid" x1="0" x2={WIDTH} y1={y(max * part)} y2={y(max * part)} />
        ))}
        {shown.map(({ time, label }) => (
          <line key={time + label} class="mark" x1={markX(time)} x2={markX(time)} y1="0" y2={HEIGHT}>
            <title>{label}</title>
          </line>
        ))}
        {series.map(({ name, tone, values }) => (
          <path key={name} class={`line ${tone}`} d={toLinePath(values, x, y)} />
        ))}
        {hovered !== undefined && <line class="cursor" x1={x(index)} x2={x(index)} y1="0" y2={HEIGHT} />}
      </svg>
      <div class="axis muted">
        <span>{times[0] && formatTime(times[0])}</span>
        <span>max {format(max)}</span>
      </div>
    </figure>
  )
}

function describe(title: string, series: readonly Series[], format: (value: number) => string): string {
  const sums = series.map(
    ({ name, values }) => `${name} at most ${format(Math.max(0, ...values.map((v) => v ?? 0)))}`,
  )
  return `${title}: ${sums.join(', ')}`
}

/** What a share of the cost between the cheapest and the best model buys. */
export interface StrategyCurve {
  readonly name: string
  /** Class of the line and of its legend: a color of the style sheet. */
  readonly tone: string
  readonly points: readonly (readonly [cost: number, quality: number])[]
}

const CURVE_WIDTH = 300
const MARGIN = 5

/** Lines of quality against cost, all on one scale. The first one is described in words. */
export function CostCurve({ curves }: { readonly curves: readonly StrategyCurve[] }) {
  const all = curves.flatMap(({ points }) => points)
  const x = createScale(
    all.map(([cost]) => cost),
    CURVE_WIDTH,
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
      <svg
        viewBox={`0 0 ${CURVE_WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Quality ${quality} at costs ${costs}`}
      >
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

/** A bar that shows a share. */
export function Meter({ value, max, label }: { value: number; max: number; label: string }) {
  const share = max <= 0 ? 0 : Math.min(1, value / max)
  return (
    <svg
      class="meter"
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${Math.round(share * 100)} %`}
    >
      <rect class="track" width="100" height="8" />
      <rect class="fill" width={share * 100} height="8" />
    </svg>
  )
}
