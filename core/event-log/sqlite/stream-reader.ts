import { join } from 'node:path'
import { type EventLog, EventLogUnavailableError, type RecordedEvent } from '../../contract/event-log.ts'
import { errorMessage } from '../../util/error-message.ts'
import { HISTORY_FILE } from './check-folder.ts'
import { SqliteDatabase, takeEventPage } from './database.ts'
import { guardFile } from './file-guard.ts'
import { prepareStreamRead } from './history-store.ts'
import { parseEventRow } from './worker-protocol.ts'

/**
 * Opens an existing embedded log to read permanent streams in the calling thread, which waits for the disk.
 * Both opening and reading fail with an `EventLogUnavailableError`.
 */
export function openStreamReader(directory: string): Pick<EventLog, 'read' | 'close'> {
  const file = join(directory, HISTORY_FILE)
  const open = () => {
    const database = new SqliteDatabase(file, { readonly: true, fileMustExist: true })
    return { database, select: prepareStreamRead(database), checkFile: guardFile(file) }
  }
  const { database, select, checkFile } = orUnavailable(open)

  function readPage(stream: string, from: number) {
    checkFile()
    return takeEventPage(select.iterate(stream, from))
  }

  return {
    async *read(stream, from = 0): AsyncGenerator<RecordedEvent> {
      for (let next = from; ; ) {
        const { rows, more } = orUnavailable(() => readPage(stream, next))
        for (const row of rows) {
          const event = parseEventRow(row)
          if (event) yield event
        }
        if (!more) return
        next = (rows.at(-1)?.[2] ?? next) + 1
      }
    },
    close: async () => void database.close(),
  }
}

function orUnavailable<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (cause) {
    throw new EventLogUnavailableError(`the event log failed: ${errorMessage(cause)}`, { cause })
  }
}
