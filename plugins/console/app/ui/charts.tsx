import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { formatTime, formatTimes, timeZone } from '../lib/format.ts'
import { describeStep, type PlotSeries } from '../lib/plot-data.ts'
import { setTimes } from '../lib/range.ts'
import { theme } from '../lib/theme.ts'
import { type ChartMark, createPlot, type PlotContent, toData, UNITS } from './plot.ts'

export type { PlotSeries } from '../lib/plot-data.ts'
export type { ChartMark } from './plot.ts'

interface ChartProps extends Omit<PlotContent, 'marks'> {
  readonly title: string
  readonly marks?: readonly ChartMark[]
  /** The address of what happened between two times (Unix, in milliseconds). */
  readonly hrefOf?: (sinceMs: number, untilMs: number) => string
}

interface Pointed {
  readonly index: number
  readonly left: number
  /** Of the chart. */
  readonly width: number
}

/**
 * Values over time. The pointer shows those of a step, a click leads to its requests, and a drag makes the
 * range of all pages that of the drag. The same values are in a table, for those who do not see or point.
 */
export function TimeChart(props: ChartProps) {
  const { title, kind, unit, series, stepMs, times, until, marks = [], hrefOf } = props
  const root = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const [pointed, setPointed] = useState<Pointed>()
  const endOf = (index: number) => Math.min((times[index] ?? 0) + stepMs, until)
  function open(index: number): void {
    const start = times[index]
    if (hrefOf && start !== undefined) location.hash = hrefOf(start, endOf(index))
  }
  const latest = useRef({ content: { ...props, marks }, open })
  latest.current = { content: { ...props, marks }, open }

  const shape = [kind, unit, timeZone.value, ...series.map(({ tone }) => tone)].join()
  useEffect(() => {
    if (!root.current) return
    const created = createPlot(root.current, () => latest.current.content, {
      onPoint: (index, left) =>
        setPointed(index === undefined ? undefined : { index, left, width: created.root.clientWidth }),
      onZoom: setTimes,
      onClick: (index) => latest.current.open(index),
    })
    plot.current = created
    const stopWatching = watchLook(root.current, created)
    return () => {
      stopWatching()
      created.destroy()
    }
  }, [shape])
  useEffect(() => plot.current?.setData(toData(latest.current.content)), [times, series, until])
  useEffect(() => plot.current?.redraw(), [theme.value, marks])

  const { format } = UNITS[unit]
  const isEmpty = series.every(({ values }) => values.every((value) => value === null || value === 0))
  return (
    <figure class="chart">
      <figcaption>
        <h2>
          {title} <small class="muted">{unit !== 'ms' && describeStep(stepMs)}</small>
        </h2>
        <Legend entries={[...series, ...(marks.length > 0 ? [MARKS] : [])]} />
      </figcaption>
      <div class={`plot-frame ${hrefOf ? 'opens' : ''}`}>
        <div ref={root} class="plot" role="img" aria-label={describeSeries(title, series, format)} />
        {isEmpty && <p class="plot-empty">Nothing in this range.</p>}
        {pointed && <Tooltip {...props} {...pointed} end={endOf(pointed.index)} marks={marks} />}
      </div>
      <ChartTable {...props} endOf={endOf} />
    </figure>
  )
}

const MARKS = { name: 'Change of rules', tone: 'mark-tone' }

function Legend({ entries }: { readonly entries: readonly Pick<PlotSeries, 'name' | 'tone'>[] }) {
  return (
    <ul class="legend">
      {entries.map(({ name, tone }) => (
        <li key={name}>
          <i class={`swatch ${tone}`} /> {name}
        </li>
      ))}
    </ul>
  )
}

/** Follows the size of the element and the colors of the system. Returns a function that stops it. */
function watchLook(root: HTMLElement, plot: uPlot): () => void {
  const sizes = new ResizeObserver(() => {
    if (root.clientWidth > 0) plot.setSize({ width: root.clientWidth, height: plot.height })
  })
  sizes.observe(root)
  const colors = matchMedia('(prefers-color-scheme: dark)')
  const redraw = () => plot.redraw()
  colors.addEventListener('change', redraw)
  return () => {
    sizes.disconnect()
    colors.removeEventListener('change', redraw)
  }
}

function describeSeries(
  title: string,
  series: readonly PlotSeries[],
  format: (value: number) => string,
): string {
  const highest = series.map(
    ({ name, values }) => `${name} at most ${format(Math.max(0, ...values.map((value) => value ?? 0)))}`,
  )
  return `${title}: ${highest.join(', ')}`
}

interface TooltipProps extends ChartProps, Pointed {
  readonly end: number
  readonly marks: readonly ChartMark[]
}

function Tooltip({ kind, unit, times, series, marks, index, left, width, end, hrefOf }: TooltipProps) {
  const { format } = UNITS[unit]
  const start = times[index] ?? 0
  const values = series.map(({ values }) => values[index] ?? null)
  const changes = marks.filter(({ time }) => Date.parse(time) >= start && Date.parse(time) < end)
  const place = left > width / 2 ? { right: `${width - left + 12}px` } : { left: `${left + 12}px` }
  return (
    <div class="tooltip" style={place}>
      <b>{formatTimes(start, end)}</b>
      <dl>
        {series.map(({ name, tone }, at) => (
          <div key={name}>
            <dt>
              <i class={`swatch ${tone}`} /> {name}
            </dt>
            <dd>{values[at] == null ? '–' : format(values[at] ?? 0)}</dd>
          </div>
        ))}
        {kind === 'bars' && series.length > 1 && (
          <div>
            <dt>Total</dt>
            <dd>{format(values.reduce<number>((sum, value) => sum + (value ?? 0), 0))}</dd>
          </div>
        )}
      </dl>
      {changes.map(({ time, label }) => (
        <p key={time + label}>
          <i class="swatch mark-tone" /> {label}
        </p>
      ))}
      {hrefOf && <small class="muted">Click for the requests, drag to zoom</small>}
    </div>
  )
}

interface ChartTableProps extends ChartProps {
  readonly endOf: (index: number) => number
}

/** The values of a chart as a table. Its rows are there while it is open. */
function ChartTable({ title, unit, times, series, hrefOf, endOf }: ChartTableProps) {
  const [isOpen, setOpen] = useState(false)
  const { format } = UNITS[unit]
  return (
    <details class="chart-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="hidden">{title} as a </span>Table
      </summary>
      {isOpen && (
        <div class="table">
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, index) => (
                <tr key={time}>
                  <td>
                    {hrefOf ? <a href={hrefOf(time, endOf(index))}>{formatTime(time)}</a> : formatTime(time)}
                  </td>
                  {series.map(({ name, values }) => (
                    <td key={name} class="number">
                      {values[index] == null ? '–' : format(values[index] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </details>
  )
}

/** What a share of the cost between the cheapest and the best model buys. */
export interface StrategyCurve {
  readonly name: string
  /** Class of the line and of its legend: a color of the style sheet. */
  readonly tone: string
  readonly points: readonly (readonly [cost: number, quality: number])[]
}

const CURVE_WIDTH = 300
const CURVE_HEIGHT = 150
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
    CURVE_HEIGHT,
  )
  const points = curves[0]?.points ?? []
  const quality = formatRange(points.map(([, value]) => value))
  const costs = formatRange(points.map(([cost]) => cost))
  return (
    <figure class="chart">
      <figcaption>
        Quality against cost
        <Legend entries={curves} />
      </figcaption>
      <svg
        viewBox={`0 0 ${CURVE_WIDTH} ${CURVE_HEIGHT}`}
        role="img"
        aria-label={`Quality ${quality} at costs ${costs}`}
      >
        {curves.map(({ name, tone, points }) => (
          <path
            key={name}
            class={`line ${tone}`}
            d={points
              .map(([cost, value], at) => {
                return `${at === 0 ? 'M' : 'L'}${x(cost).toFixed(1)} ${(CURVE_HEIGHT - y(value)).toFixed(1)}`
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
