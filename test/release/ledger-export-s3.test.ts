import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { gunzipSync } from 'node:zlib'
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { expect } from 'chai'
import { startGatewayProcess } from '../support/gateway-process.ts'
import {
  ask,
  type ExportedLine,
  exportingTo,
  exportsBegan,
  idOf,
  parseLines,
  recordedIds,
} from '../support/ledger-export.ts'
import { scrapeUntil } from '../support/metrics.ts'
import { spawnPython, whyNoCloudLibrary } from '../support/python.ts'
import { withSettings } from '../support/settings.ts'
import { skip } from '../support/skip.ts'
import { waitUntil } from '../support/wait.ts'

const KEYS = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'a-secret-key-of-aws' }
const BUCKET = 'records'

/** Starts moto, which stands in for S3. */
async function startS3(): Promise<{ readonly url: string; readonly process: ChildProcess }> {
  const process = spawnPython(['-m', 'moto.server', '-H', '127.0.0.1', '-p', '0'])
  for await (const line of createInterface(process.stderr)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? []
    if (url === undefined) continue
    process.stderr.resume()
    return { url, process }
  }
  throw new Error('moto did not start')
}

describe('the ledger export to S3', () => {
  let server: Awaited<ReturnType<typeof startS3>> | undefined
  let client: S3Client

  before(async function () {
    this.timeout(60_000)
    const missing = whyNoCloudLibrary('moto')
    if (missing !== undefined) skip(this, missing)
    server = await startS3()
    client = new S3Client({
      ...{ endpoint: server.url, region: 'eu-central-1', forcePathStyle: true },
      credentials: { accessKeyId: KEYS.AWS_ACCESS_KEY_ID, secretAccessKey: KEYS.AWS_SECRET_ACCESS_KEY },
    })
  })
  after(() => {
    client?.destroy()
    server?.process.kill()
  })

  async function readObjects(): Promise<ReadonlyMap<string, readonly ExportedLine[]>> {
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }))
    const objects = new Map<string, readonly ExportedLine[]>()
    for (const { Key = '' } of Contents) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key }))
      const bytes = await Body?.transformToByteArray()
      objects.set(Key, parseLines(gunzipSync(bytes ?? '').toString()))
    }
    return objects
  }

  it('writes objects by hour, and after a kill all that was recorded while there was no bucket', async function () {
    this.timeout(120_000)
    const target = { bucket: BUCKET, prefix: 'gateway/', region: 'eu-central-1', endpoint: server?.url }
    const settings = exportingTo([{ to: 's3', ...target, path_style: true, batch_seconds: 1 }])
    const environment = { ...(await withSettings(settings)), ...KEYS }
    const first = await startGatewayProcess(environment)
    await exportsBegan(first, 1)
    await Promise.all(Array.from({ length: 20 }, () => ask(first)))
    await scrapeUntil(first, ({ sum }) => sum('signalbox_ledger_export_failures_total') > 0)
    // The metric is counted before the line is written.
    await first.wrote('bucket')
    expect(first.stderr()).not.to.contain(KEYS.AWS_SECRET_ACCESS_KEY)
    await first.stop('SIGKILL')

    await client.send(
      new CreateBucketCommand({
        Bucket: BUCKET,
        CreateBucketConfiguration: { LocationConstraint: 'eu-central-1' },
      }),
    )
    const { dataDir, demoKey } = first
    const second = await startGatewayProcess(environment, { dataDir, demoKey })
    await ask(second)
    const recorded = await recordedIds(second)
    await waitUntil(async () => [...(await readObjects()).values()].flat().length >= recorded.length)
    const objects = await readObjects()
    expect([...objects.values()].flat().map(idOf)).to.have.members(recorded)
    for (const [key, lines] of objects) {
      const [, firstNumber, lastNumber] =
        /^gateway\/\d{4}\/\d\d\/\d\d\/\d\d\/s3-(\d+)-(\d+)\.ndjson\.gz$/.exec(key) ?? []
      expect([lines[0]?.number, lines.at(-1)?.number]).to.deep.equal([
        Number(firstNumber),
        Number(lastNumber),
      ])
    }
    await second.stop()
  })
})
