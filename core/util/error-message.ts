/** Why something failed, in one line: some errors add a stack or a list of files to their message. */
export function errorSummary(thrown: unknown): string {
  const text = errorMessage(thrown)
  return (text.split('\n', 1)[0] ?? '').trim().replace(/[.:]$/, '')
}

/** What was thrown says, as it says it. */
export function errorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
