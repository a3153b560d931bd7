import { closeSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { DAMAGE_CODES, SET_ASIDE_INFIX, type SetAsideFile } from './damaged-files.ts'
import { SqliteDatabase } from './database.ts'
import { identifyFile } from './file-guard.ts'

/** Whether the error says that a file is damaged, and not that it is locked, full or not accessible. */
export function isDamageError(error: unknown): error is Error {
  return error instanceof SqliteDatabase.SqliteError && DAMAGE_CODES.test(error.code)
}

/** Returns the error of a file whose owner is no id of an event log. `isDamageError` is true for it. */
export function createDamagedOwnerError(): Error {
  return new SqliteDatabase.SqliteError('the id of its event log is damaged', 'SQLITE_CORRUPT')
}

/** A disk that damages file after file must not be filled with them. */
const MAX_SET_ASIDE = 10

/**
 * Renames a damaged database and its write-ahead log, for example to `ledger-damaged-2026-11-23T….db`.
 * `identity` is that of the file in which the damage was found: returns undefined if another process has
 * already replaced it. Open connections are closed by the caller afterwards, so that SQLite finds the file
 * moved and leaves the log of the new file alone. See docs/decisions/event-log.md, "A damaged ledger is
 * set aside".
 */
export function setAside(
  file: string,
  identity: string | undefined,
  reason: string,
): SetAsideFile | undefined {
  const { dir, name, ext } = path.parse(file)
  const unlock = lock(`${file}.lock`)
  try {
    if (identifyFile(file) !== identity) return undefined
    const earlier = readdirSync(dir).filter(
      (entry) => entry.startsWith(name + SET_ASIDE_INFIX) && entry.endsWith(ext),
    )
    if (earlier.length >= MAX_SET_ASIDE)
      throw new Error(
        `${file} is damaged (${reason}), and ${earlier.length} earlier ones have been set aside in ${dir}. ` +
          'Check the disk, and move them away',
      )
    const time = new Date().toISOString().replaceAll(':', '-').replace('.', '_')
    const movedTo = path.join(dir, `${name}${SET_ASIDE_INFIX}${time}${ext}`)
    // The file comes last: as long as it is in place, no other process creates a log for a new one.
    for (const suffix of ['-shm', '-wal', '']) renameIfPresent(file + suffix, movedTo + suffix)
    return { file, movedTo, reason }
  } finally {
    unlock()
  }
}

function renameIfPresent(file: string, movedTo: string): void {
  if (identifyFile(file) !== undefined) renameSync(file, movedTo)
}

const LOCK_WAIT_MS = 1000
const LOCK_POLL_MS = 10
/** A lock of this age belongs to a process that was killed. */
const STALE_LOCK_MS = 10_000

/** Several processes can find the same damage at the same time. Blocks this thread until the lock is free. */
function lock(file: string): () => void {
  const deadline = performance.now() + LOCK_WAIT_MS
  for (;;) {
    try {
      closeSync(openSync(file, 'wx', 0o600))
      return () => rmSync(file, { force: true })
    } catch (error) {
      const age = Date.now() - (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
      if (age > STALE_LOCK_MS) rmSync(file, { force: true })
      else if (performance.now() > deadline) throw error
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS)
    }
  }
}
