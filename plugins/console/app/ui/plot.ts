import uPlot, { type AlignedData, type Axis, type Options, type Series } from 'uplot'
import { createTimeFormat, formatCount, formatMs, formatUsd, timeZone } from '../lib/format.ts'
import { findDots, type PlotSeries, stackSeries } from '../lib/plot-data.ts'
import { DAY_MS, MINUTE_MS } from '../lib/time-range.ts'

export interface ChartMark {
  readonly time: string
  readonly label: string
}

/** What is drawn over time: bars that stand on each other, or lines. */
export interface PlotContent {
  readonly kind: 'bars' | 'lines'
  readonly unit: keyof typeof UNITS
  /** Starts of the steps and end of the last one, as Unix times in milliseconds. */
  readonly times: readonly number[]
  readonly until: number
  readonly stepMs: number
  readonly series: readonly PlotSeries[]
  readonly marks: readonly ChartMark[]
}

export interface PlotEvents {
  /** The step under the pointer, and where its middle is. */
  onPoint(index: number | undefined, left: number): void
  onZoom(sinceMs: number, untilMs: number): void
  onClick(index: number): void
}

const WHOLE = [1, 2, 5]
  .flatMap((digit) => Array.from({ length: 10 }, (_, power) => digit * 10 ** power))
  .toSorted((a, b) => a - b)

/** How values of a unit are written, and the distances of ticks if there are only some. */
export const UNITS = {
  count: { format: formatCount, incrs: WHOLE },
  ms: { format: formatMs, incrs: WHOLE },
  usd: { format: formatUsd, incrs: undefined },
} as const

const HEIGHT = 190
const FONT = '12px system-ui, sans-serif'

/** A drag that is shorter is a click. */
const MIN_DRAG_PX = 6

/** Draws into an element. Its colors are those of the style sheet at the time of drawing. */
export function createPlot(root: HTMLElement, read: () => PlotContent, events: PlotEvents): uPlot {
  const { kind, unit, series } = read()
  const options: Options = {
    width: root.clientWidth,
    height: HEIGHT,
    ms: 1,
    padding: [10, 22, 0, 0],
    tzDate: (time) => (timeZone.value === undefined ? new Date(time) : uPlot.tzDate(new Date(time), 'UTC')),
    legend: { show: false },
    scales: {
      x: { range: () => [read().times[0] ?? 0, read().until] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [timeAxis(root), valueAxis(root, unit)],
    series: [
      {},
      ...(kind === 'bars' ? series.toReversed() : series).map(({ tone }) => toSeries(root, kind, tone)),
    ],
    cursor: {
      y: false,
      points: { show: kind === 'lines', size: 8 },
      drag: { x: true, y: false, setScale: false },
      sync: {
        key: 'time',
        setSeries: false,
        filters: { pub: (type) => type.startsWith('mousemove') || type === 'mouseleave' },
      },
    },
    hooks: {
      draw: [(plot) => drawMarks(plot, root, read().marks)],
      setCursor: [(plot) => pointAt(plot, events)],
      setSelect: [(plot) => zoom(plot, events)],
    },
  }
  const plot = new uPlot(options, toData(read()), root)
  watchClicks(plot, events)
  return plot
}

/** The values in the middle of their steps. The tallest bars are drawn first, and the others over them. */
export function toData({ kind, times, until, stepMs, series }: PlotContent): AlignedData {
  const middles = times.map((time) => (time + Math.min(time + stepMs, until)) / 2)
  const values = kind === 'bars' ? stackSeries(series).toReversed() : series.map(({ values }) => values)
  return [middles, ...values] as AlignedData
}

function toSeries(root: HTMLElement, kind: PlotContent['kind'], tone: string): Series {
  const color = () => colorOf(root, `.${tone}`)
  if (kind === 'bars')
    return {
      fill: color,
      width: 0,
      points: { show: false },
      ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.82, 40], radius: 0.08 }) }),
    }
  return {
    stroke: color,
    width: 1.75,
    points: {
      show: true,
      size: 5,
      fill: color,
      filter: (plot, index) => [...findDots([...(plot.data[index] ?? [])])],
    },
  }
}

function colorOf(root: HTMLElement, selector: string): string {
  return getComputedStyle(root.closest('figure')?.querySelector(selector) ?? root).color
}

const lineColorOf = (root: HTMLElement) => getComputedStyle(root).borderTopColor

function timeAxis(root: HTMLElement): Axis {
  return {
    stroke: () => getComputedStyle(root).color,
    font: FONT,
    size: (_, values) => (values?.some((text) => text.includes('\n')) ? 42 : 26),
    space: 64,
    grid: { show: false },
    ticks: { stroke: () => lineColorOf(root), size: 5 },
    values: (_, splits, __, ___, increment) => labelTimes(splits, increment),
  }
}

const CLOCK = createTimeFormat({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const SECONDS = createTimeFormat({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
const DAY = createTimeFormat({ month: 'short', day: 'numeric' })
const MONTH = createTimeFormat({ month: 'short' })
const YEAR = createTimeFormat({ year: 'numeric' })

/** The time of each tick, and below it the day or year where that is another one than before. */
function labelTimes(splits: readonly number[], increment: number): string[] {
  const [label, group] =
    increment >= 28 * DAY_MS
      ? [MONTH, YEAR]
      : increment >= DAY_MS
        ? [DAY, YEAR]
        : [increment < MINUTE_MS ? SECONDS : CLOCK, DAY]
  return splits.map((time, index) => {
    const before = splits[index - 1] ?? (group === YEAR ? Date.now() : undefined)
    const isSame = before !== undefined && group(before) === group(time)
    return isSame ? label(time) : `${label(time)}\n${group(time)}`
  })
}

function valueAxis(root: HTMLElement, unit: PlotContent['unit']): Axis {
  const { format, incrs } = UNITS[unit]
  return {
    stroke: () => getComputedStyle(root).color,
    font: FONT,
    space: 34,
    size: (_, values) => 16 + 7 * Math.max(2, ...(values ?? []).map((text) => text.length)),
    grid: { stroke: () => lineColorOf(root), width: 1 },
    ticks: { show: false },
    values: (_, splits) => splits.map((value) => format(value)),
    ...(incrs && { incrs: [...incrs] }),
  }
}

function drawMarks(plot: uPlot, root: HTMLElement, marks: readonly ChartMark[]): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = colorOf(root, '.mark-tone')
  ctx.fillStyle = ctx.strokeStyle
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio])
  const size = 4 * devicePixelRatio
  for (const { time } of marks) {
    const x = Math.round(plot.valToPos(Date.parse(time), 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.beginPath()
    ctx.moveTo(x - size, bbox.top - size)
    ctx.lineTo(x + size, bbox.top - size)
    ctx.lineTo(x, bbox.top + size / 2)
    ctx.fill()
  }
  ctx.restore()
}

/** Other charts show the line of the cursor as well, but only the one under the pointer its values. */
function pointAt(plot: uPlot, { onPoint }: PlotEvents): void {
  const { idx, left } = plot.cursor
  const isHere = plot.over.matches(':hover') && idx != null && (left ?? -1) >= 0
  if (!isHere) onPoint(undefined, 0)
  else onPoint(idx, plot.over.offsetLeft + plot.valToPos(plot.data[0][idx] ?? 0, 'x'))
}

function zoom(plot: uPlot, { onZoom }: PlotEvents): void {
  const { left, width } = plot.select
  if (width < MIN_DRAG_PX) return
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
  onZoom(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'))
}

/** A finger shows the values, and does not lead away. */
function watchClicks(plot: uPlot, { onClick }: PlotEvents): void {
  let start = 0
  plot.over.addEventListener('pointerdown', ({ clientX }) => {
    start = clientX
  })
  plot.over.addEventListener('click', (event) => {
    const isTouch = (event as PointerEvent).pointerType === 'touch'
    const { idx } = plot.cursor
    if (!isTouch && idx != null && Math.abs(event.clientX - start) < MIN_DRAG_PX) onClick(idx)
  })
}
