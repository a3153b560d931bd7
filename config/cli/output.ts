import type { CommandArgs } from './command.ts'

/**
 * Ignores errors of stderr, because there is nowhere to report them, and EPIPE on stdout: the reader, such as
 * `head`, has closed the pipe because it needs no more output. Without this, the error would terminate the
 * process with a stack trace.
 */
export function ignoreOutputErrors(): void {
  process.stderr.on('error', () => undefined)
  process.stdout.on('error', (error) => {
    if (!isBrokenPipe(error)) throw error
  })
}

export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}

/** The cell of a column, by its title. */
export type Columns<Row> = Readonly<Record<string, (row: Row) => string | number | null | undefined>>

/** Prints a list as a table, or with `--json` as an array. `none` is printed in place of an empty table. */
export function printList<Row>(
  { options, print }: Pick<CommandArgs, 'options' | 'print'>,
  rows: readonly Row[],
  columns: Columns<Row>,
  none: string,
): void {
  const shows = Object.values(columns)
  if (options.has('json')) print(JSON.stringify(rows))
  else if (rows.length === 0) print(none)
  else {
    const cells = rows.map((row) => shows.map((show) => String(show(row) ?? '-') || '-'))
    for (const line of formatColumns([Object.keys(columns), ...cells])) print(line)
  }
}

/** A time to the minute, in UTC. */
export function showTime(time: string | null | undefined): string | undefined {
  return time?.replace(/^(.{10})T(.{5}).*$/, '$1 $2')
}

/** Formats rows of the same length as lines with aligned columns. */
export function formatColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const shown = rows.map((row) => row.map(escapeControls))
  const columns = shown[0] ?? []
  const widths = columns.map((_, column) => Math.max(...shown.map((row) => row[column]?.length ?? 0)))
  return shown.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

/** Names come from others: they must not move the cursor, or hide a part of the line. */
function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => {
    return `\\u{${char.codePointAt(0)?.toString(16)}}`
  })
}
