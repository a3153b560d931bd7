import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** In the message about a write-ahead log that belongs to another file. */
export const FOREIGN_WAL = 'does not belong to it'

/** A write-ahead log that only has a header holds no changes. */
const WAL_HEADER_BYTES = 32

/** Where SQLite's header has the version of the format: 2 for a file with a write-ahead log. */
const FORMAT_OFFSET = 18
const WAL_FORMAT = 2

/**
 * Throws if another file's write-ahead log lies beside a database, because the file was restored from a
 * backup without it. SQLite would apply it, which undoes the restore or damages the file. Backups are files
 * that never had a write-ahead log.
 */
export function refuseForeignWal(file: string): void {
  const wal = `${file}-wal`
  if (sizeOf(wal) <= WAL_HEADER_BYTES || sizeOf(file) === 0) return
  if (readFormat(file) === WAL_FORMAT) return
  throw new Error(
    `${wal} ${FOREIGN_WAL}: the file was restored from a backup, and the log is that of the file that it ` +
      `replaced. Move ${wal} and ${file}-shm out of the folder to use the backup`,
  )
}

function readFormat(file: string): number | undefined {
  const header = Buffer.alloc(FORMAT_OFFSET + 1)
  const fd = openSync(file, 'r')
  try {
    readSync(fd, header, 0, header.length, 0)
    return header[FORMAT_OFFSET]
  } finally {
    closeSync(fd)
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
