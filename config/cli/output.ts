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

/** Formats rows of the same length as lines with aligned columns. */
export function formatColumns(rows: readonly (readonly string[])[]): readonly string[] {
  const columns = rows[0] ?? []
  const widths = columns.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
