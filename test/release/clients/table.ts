import type { CaseResult } from './run-program.ts'

/**
 * The results as a table, client × feature: `pass`, `skip`, or how many of the cases passed. The first column
 * counts all cases of a client.
 */
export function formatTable(results: readonly CaseResult[]): string {
  const clients = [...new Set(results.map(({ client }) => client))]
  const features = [...new Set(results.map(({ feature }) => feature))]
  const rows = clients.map((client) => [
    client,
    countPassed(results.filter((result) => result.client === client)),
    ...features.map((feature) =>
      formatCell(results.filter((result) => result.client === client && result.feature === feature)),
    ),
  ])
  const table = [['client', 'cases', ...features], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? []
  return table
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function formatCell(cases: readonly CaseResult[]): string {
  if (cases.length === 0) return ''
  const run = cases.filter(({ skipped }) => skipped === undefined)
  const passed = run.filter(({ ok }) => ok).length
  if (run.length === 0) return 'skip'
  return passed === run.length ? 'pass' : `FAIL ${passed}/${run.length}`
}

/** Skipped cases are not counted. */
function countPassed(cases: readonly CaseResult[]): string {
  const run = cases.filter(({ skipped }) => skipped === undefined)
  return `${run.filter(({ ok }) => ok).length}/${run.length}`
}

export function isFailure({ ok, skipped }: CaseResult): boolean {
  return !ok && skipped === undefined
}

/** One line for a failed or skipped case. */
export function formatCase({ client, feature, model, detail, skipped }: CaseResult): string {
  const name = [client, feature, model].filter(Boolean).join(', ')
  return skipped === undefined
    ? `FAIL ${name}: ${detail?.split('\n    at ')[0] ?? 'no detail'}`
    : `skip ${name}: ${skipped}`
}
