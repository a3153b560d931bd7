import { readFile } from 'node:fs/promises'
import { isJsonObject, type Position } from '../../../core/contract/index.ts'
import { replaceFile } from '../../../core/util/files.ts'
import { parseJson } from '../../../core/util/json.ts'

/** How far the entries of an event log were exported. */
export interface PositionFile {
  /** Resolves with 0 if nothing of this log was exported. */
  read(): Promise<Position>
  /** Resolves when the position is on disk. */
  write(position: Position): Promise<void>
}

/** `target` is the id of where the entries go: another target begins with the first entry. */
export function createPositionFile(file: string, logId: string, target: string): PositionFile {
  return {
    async read() {
      const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return ''
        throw error
      })
      const saved = parseJson(text)
      if (!isJsonObject(saved) || saved.log !== logId || saved.target !== target) return 0
      return Number.isSafeInteger(saved.position) ? Number(saved.position) : 0
    },
    write(position) {
      const text = `${JSON.stringify({ log: logId, target, position })}\n`
      return replaceFile(file, (handle) => handle.writeFile(text))
    },
  }
}
