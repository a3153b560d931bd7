/**
 * Ignores EPIPE on stdout and stderr: the reader, such as `head`, has closed the pipe because it needs no
 * more output. Without this, the error would terminate the process with a stack trace.
 */
export function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error) => {
      if (!isBrokenPipe(error)) throw error
    })
  }
}

export function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE'
}
