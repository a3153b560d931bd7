import { type FileHandle, mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { isJsonObject } from '../../../core/contract/index.ts'
import { parseJson } from '../../../core/util/json.ts'
import { divideByTime, type ExportTargetKind, formatRecord } from './target.ts'

interface FileRow {
  readonly folder: string
}

/** Appends lines to a file per day (UTC). A record that the file ends with is not appended again. */
export const fileTarget: ExportTargetKind<FileRow> = {
  pageRecords: 500,
  pageSeconds: 1,
  open: ({ folder }) => ({
    async send(page) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      for await (const all of page.read())
        for (const { period, records } of divideByTime(all, toDay)) {
          const file = await openFile(path.join(folder, `ledger-${period}.ndjson`))
          try {
            const last = await endWithWholeLine(file)
            const lines = records.filter(({ number }) => number > last).map(formatRecord)
            const { size } = await file.stat()
            if (lines.length > 0) await writeWhole(file, Buffer.from(`${lines.join('\n')}\n`), size)
            await file.sync()
          } finally {
            await file.close()
          }
        }
      return 0
    },
    close: async () => undefined,
  }),
}

const toDay = (time: string) => time.slice(0, 10)

/** Opens a file to read and write, and creates it if it is missing. */
async function openFile(file: string): Promise<FileHandle> {
  return open(file, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return open(file, 'wx+', 0o600)
    throw error
  })
}

/** A disk that is about to be full takes a part without an error. Then it says why it takes no more. */
async function writeWhole(file: FileHandle, bytes: Buffer, start: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, start + done)
    done += bytesWritten
  }
}

/** Bytes that are read at once from the end of a file. */
const TAIL_BYTES = 64 * 1024

/** Cuts off a line that was only begun. Returns the number of the last record, 0 if there is none. */
async function endWithWholeLine(file: FileHandle): Promise<number> {
  const { size } = await file.stat()
  for (let bytes = TAIL_BYTES; size > 0; bytes *= 4) {
    const start = Math.max(0, size - bytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start)
    const tail = buffer.subarray(0, bytesRead)
    const end = tail.lastIndexOf('\n')
    const before = end < 1 ? -1 : tail.lastIndexOf('\n', end - 1)
    if (start > 0 && before < 0) continue
    if (end < tail.length - 1) await file.truncate(start + end + 1)
    const line = parseJson(tail.subarray(before + 1, Math.max(0, end)).toString())
    return isJsonObject(line) && Number.isSafeInteger(line.number) ? Number(line.number) : 0
  }
  return 0
}
