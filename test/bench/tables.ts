import type { Goal } from './goals.ts'
import type { CaseResult } from './summarize.ts'

/** Rows of cells. The first row is the header. */
export type Table = readonly (readonly string[])[]

/**
 * `÷ base` is the rate relative to the baseline, `CPU ÷` the same per second of CPU time of the server, and
 * `main ÷` per second of CPU time of its main thread.
 * `added` is the median latency minus that of (a), `first` the time to the first byte of the body. `busy` and
 * `load` are the CPU usage of the server and of the load generator.
 */
export function tabulate({ base, figures, ratios }: CaseResult): Table {
  const head = [
    '',
    '/s',
    '÷ base',
    'CPU µs',
    'CPU ÷',
    'main µs',
    'main ÷',
    'p50 ms',
    'p95',
    'p99',
    'added',
    'first p50',
    'first p99',
    'busy',
    'load',
  ]
  const upstream = figures.a
  const rows = Object.entries(figures).map(([label, found]) => [
    label,
    found.perSecond.toFixed(0),
    label === base ? 'base' : (ratios[label]?.rate.toFixed(2) ?? ''),
    found.cpuMicros.toFixed(0),
    ratios[label]?.perCpuSecond.toFixed(2) ?? '',
    found.mainMicros.toFixed(0),
    ratios[label]?.perMainSecond.toFixed(2) ?? '',
    ...[found.p50, found.p95, found.p99].map((time) => time.toFixed(2)),
    upstream === undefined || label === 'a' ? '' : (found.p50 - upstream.p50).toFixed(2),
    ...[found.first50, found.first99].map((time) => time.toFixed(2)),
    `${(found.busy * 100).toFixed(0)} %`,
    `${(found.loadBusy * 100).toFixed(0)} %${found.failures > 0 ? ` ${found.failures} FAILED` : ''}`,
  ])
  return [head, ...rows]
}

export function tabulateGoals(goals: readonly Goal[]): Table {
  const rows = goals.map(({ figure, reach, value, reached }) => [
    figure,
    reach,
    value ?? 'not measured',
    reached === undefined ? '' : reached ? 'reached' : 'NOT reached',
  ])
  return [['figure', 'goal', 'this run', ''], ...rows]
}

/** Formats a table for a terminal. The first column is left-aligned, the others right-aligned. */
export function asText(table: Table): string {
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  )
  const line = (row: readonly string[]) =>
    row.map((text, column) =>
      column === 0 ? text.padEnd(widths[0] ?? 0) : text.padStart(widths[column] ?? 0),
    )
  return table.map((row) => `  ${line(row).join('  ')}\n`).join('')
}

/** Formats a table as Markdown. Returns an empty text for an empty table. */
export function asMarkdown([head, ...rows]: Table): string {
  if (head === undefined) return ''
  const line = (row: readonly string[]) => `| ${row.join(' | ')} |\n`
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '--:'))), ...rows.map(line)].join(
    '',
  )
}
