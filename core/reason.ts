/** Why something failed, in one line: some errors add a stack or a list of files to their message. */
export function reasonOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  return (text.split('\n', 1)[0] ?? '').trim().replace(/[.:]$/, '')
}
