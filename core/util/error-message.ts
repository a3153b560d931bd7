/** Returns the message of a thrown value. */
export function errorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/**
 * Returns the first line of the message, without a final period: some errors append a stack or a list of
 * files to their message.
 */
export function errorSummary(thrown: unknown): string {
  const [firstLine = ''] = errorMessage(thrown).split('\n', 1)
  return firstLine.trim().replace(/[.:]$/, '')
}

/** Returns the code or the name of an error whose message may quote what must not be shown. */
export function errorName(thrown: unknown): string {
  if (!(thrown instanceof Error)) return 'unknown'
  return 'code' in thrown && thrown.code !== undefined ? String(thrown.code) : thrown.name
}
