import { readdir } from 'node:fs/promises'
import type { Logger } from 'pino'

/** A damaged file that was moved out of the way, so that an empty one can take its place. */
export interface SetAsideFile {
  readonly file: string
  readonly movedTo: string
  /** SQLite's message. */
  readonly reason: string
}

/** SQLite's codes of a file whose content cannot be read, or is not a database. */
export const DAMAGE_CODES = /^SQLITE_(CORRUPT|NOTADB|IOERR_(READ|SHORT_READ|CORRUPTFS|DATA)$)/

/** In the names of files that were set aside. */
export const SET_ASIDE_INFIX = '-damaged-'

/** Returns the names of the files in the folder that were set aside, in order. Empty if it cannot be read. */
export async function listSetAside(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch(() => [])
  return names.filter((name) => name.includes(SET_ASIDE_INFIX) && name.endsWith('.db')).toSorted()
}

export function reportSetAside(logger: Logger, { file, movedTo, reason }: SetAsideFile): void {
  logger.error({ file, movedTo, reason }, 'damaged file set aside; continuing with an empty one')
}
