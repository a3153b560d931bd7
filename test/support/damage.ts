import { open, stat } from 'node:fs/promises'
import { SqliteDatabase } from '../../core/event-log/sqlite/database.ts'

const PAGE_BYTES = 4096

/** Ways in which a file on a damaged disk differs from what was written. */
export const DAMAGES: Readonly<Record<string, (file: string) => Promise<void>>> = {
  'truncated in the middle': async (file) => {
    const { size } = await stat(file)
    await change(file, (handle) =>
      handle.truncate(size - Math.floor(size / PAGE_BYTES / 2) * PAGE_BYTES - 100),
    )
  },
  'with zeroed pages': zeroPages,
  'with random bytes': async (file) => {
    const { size } = await stat(file)
    await change(file, (handle) => handle.write(Buffer.alloc(size, 'not a database '), 0, size, 0))
  },
  'with a wrong header': (file) => change(file, (handle) => handle.write(Buffer.alloc(100, 7), 0, 100, 0)),
}

/** Overwrites all pages but the first one, which has the schema. */
export async function zeroPages(file: string): Promise<void> {
  const { size } = await stat(file)
  const length = size - PAGE_BYTES
  await change(file, (handle) => handle.write(Buffer.alloc(length), 0, length, PAGE_BYTES))
}

async function change(
  file: string,
  run: (handle: Awaited<ReturnType<typeof open>>) => Promise<unknown>,
): Promise<void> {
  const handle = await open(file, 'r+')
  await run(handle)
  await handle.close()
}

/** Overwrites the page in the middle of those that hold the events of a log. */
export async function zeroMiddlePage(file: string): Promise<void> {
  const database = new SqliteDatabase(file, { readonly: true })
  const pages = database
    .prepare<[], number>(
      "SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = 'leaf' ORDER BY path",
    )
    .pluck()
    .all()
  database.close()
  const page = pages[Math.floor(pages.length / 2)] ?? 0
  await change(file, (handle) =>
    handle.write(Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, (page - 1) * PAGE_BYTES),
  )
}
