import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { divideByTime, type ExportedRecord, type ExportTargetKind, formatRecord } from './target.ts'

interface S3Row {
  readonly bucket: string
  readonly prefix?: string
  readonly region?: string
  /** Of a service that is compatible with S3. */
  readonly endpoint?: string
  readonly path_style?: boolean
}

const compress = promisify(gzip)

const CONNECT_TIMEOUT_MS = 5000
const UPLOAD_TIMEOUT_MS = 120_000

/** Members of a gzip file may follow each other, so records are compressed as they are read. */
interface HourFile {
  readonly hour: string
  readonly first: number
  last: number
  readonly members: Buffer[]
}

/**
 * Writes an object per page and hour (UTC), with the credentials of AWS's default chain. A page that is sent
 * again replaces its objects.
 */
export const s3Target: ExportTargetKind<S3Row> = {
  pageRecords: 20_000,
  pageSeconds: 300,
  open({ name, bucket, prefix = '', region, endpoint, path_style }) {
    const opened = lazyClient(async () => {
      const { S3Client } = await import('@aws-sdk/client-s3')
      return new S3Client({
        ...(region !== undefined && { region }),
        ...(endpoint !== undefined && { endpoint }),
        ...(path_style !== undefined && { forcePathStyle: path_style }),
        // The exporter itself tries again.
        maxAttempts: 1,
        requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, requestTimeout: UPLOAD_TIMEOUT_MS },
      })
    })

    async function upload({ hour, first, last, members }: HourFile, abortSignal: AbortSignal): Promise<void> {
      const { PutObjectCommand } = await import('@aws-sdk/client-s3')
      const client = await opened.get()
      const object = new PutObjectCommand({
        Bucket: bucket,
        Key: `${prefix}${hour}/${name}-${first}-${last}.ndjson.gz`,
        Body: Buffer.concat(members),
        ContentType: 'application/x-ndjson',
        ContentEncoding: 'gzip',
      })
      await client.send(object, { abortSignal })
    }

    return {
      async send(page, signal) {
        let current: HourFile | undefined
        for await (const all of page.read())
          for (const { period: hour, records } of divideByTime(all, toHour)) {
            if (current !== undefined && current.hour !== hour) {
              await upload(current, signal)
              current = undefined
            }
            current ??= { hour, first: records[0]?.number ?? page.first, last: 0, members: [] }
            current.last = records.at(-1)?.number ?? page.last
            current.members.push(await compressLines(records))
          }
        if (current !== undefined) await upload(current, signal)
        return 0
      },
      close: () => opened.close((client) => client.destroy()),
    }
  },
}

const compressLines = (records: readonly ExportedRecord[]) =>
  compress(`${records.map(formatRecord).join('\n')}\n`)

/** `2026/11/27/22` */
const toHour = (time: string) => time.slice(0, 13).replaceAll(/[-T]/g, '/')

/** A client whose library is loaded when it is first needed. */
export function lazyClient<Client>(open: () => Promise<Client>) {
  let opened: Promise<Client> | undefined
  return {
    get: () => {
      opened ??= open()
      return opened
    },
    async close(end: (client: Client) => unknown) {
      const client = await opened?.catch(() => undefined)
      if (client !== undefined) await end(client)
    },
  }
}
