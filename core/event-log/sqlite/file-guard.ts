import { statSync } from 'node:fs'

/** The code of a `FileReplacedError`, as SQLite's errors have one. */
export const FILE_REPLACED = 'FILE_REPLACED'

/** The file of a database is no longer the one that was opened. What is written to it would be lost. */
export class FileReplacedError extends Error {
  readonly code = FILE_REPLACED
}

/** Returns what tells the file at a path from another one in its place; undefined if there is none. */
export function identifyFile(file: string): string | undefined {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}

/**
 * Returns a function that throws a `FileReplacedError` once another file, none, or a smaller one is at the
 * path of an open database that never shrinks. See docs/decisions/event-log.md, "A log has an identity".
 */
export function guardFile(file: string): () => void {
  let last = statSync(file, { bigint: true })
  return () => {
    const current = statSync(file, { bigint: true, throwIfNoEntry: false })
    if (current === undefined) throw new FileReplacedError(`${file} was removed`)
    if (current.ino !== last.ino || current.dev !== last.dev)
      throw new FileReplacedError(`${file} was replaced by another file`)
    if (current.size < last.size) throw new FileReplacedError(`${file} was overwritten by a smaller file`)
    last = current
  }
}
