/** A page of rows, and where the next one begins. */
interface RowPage<Row> {
  readonly rows: readonly Row[]
  /** Undefined on the last page. */
  readonly next: number | undefined
}

interface ExportFormat<Row> {
  readonly type: string
  /** Before the first row. */
  readonly header: string
  readonly toLine: (row: Row) => string
}

const EXPORT_PAGE = 500

/**
 * Answers with all rows from `start` on, up to a limit, one page of which is in memory at a time. The first
 * page is read before the response begins, so that it can still be an error.
 */
export async function respondWithExport<Row>(
  fileName: string,
  { type, header, toLine }: ExportFormat<Row>,
  readPage: (start: number | undefined, limit: number) => Promise<RowPage<Row>>,
  start: number | undefined,
  limit = Number.POSITIVE_INFINITY,
) {
  const pages = readPages(readPage, start, limit)
  const first = await pages.next()
  return {
    status: 200,
    headers: { 'content-type': type, 'content-disposition': `attachment; filename="${fileName}"` },
    stream: toLines(first, pages, header, toLine),
  }
}

type Pages<Row> = AsyncGenerator<readonly Row[], void, undefined>

async function* readPages<Row>(
  readPage: (start: number | undefined, limit: number) => Promise<RowPage<Row>>,
  start: number | undefined,
  limit: number,
): Pages<Row> {
  let left = limit
  for (let from = start; ; ) {
    const { rows, next } = await readPage(from, Math.min(EXPORT_PAGE, left))
    yield rows
    left -= rows.length
    if (next === undefined || left <= 0) return
    from = next
  }
}

async function* toLines<Row>(
  first: IteratorResult<readonly Row[], void>,
  pages: Pages<Row>,
  header: string,
  toLine: (row: Row) => string,
): AsyncGenerator<string> {
  if (header !== '') yield header
  for (let page = first; !page.done; page = await pages.next()) yield page.value.map(toLine).join('')
}
