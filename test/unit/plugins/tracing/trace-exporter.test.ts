import { expect } from 'chai'
import type { TraceRecord } from '../../../../plugins/tracing/request-trace.ts'
import { createTraceContext } from '../../../../plugins/tracing/trace-context.ts'
import { type ExportReport, TraceExporter } from '../../../../plugins/tracing/trace-exporter.ts'
import { startSpanCollector } from '../../../support/span-collector.ts'
import { waitUntil } from '../../../support/wait.ts'

const QUEUE = 'OTEL_BSP_MAX_QUEUE_SIZE'

describe('TraceExporter', function () {
  this.timeout(180_000)
  const reports: ExportReport[] = []
  const total = () => reports.reduce((sum, { spans }) => sum + spans, 0)

  beforeEach(() => {
    reports.length = 0
  })

  function startExporter(endpoint: string): TraceExporter {
    const options = { endpoint, sample_ratio: 1, export_interval_ms: 20 }
    return new TraceExporter({ options, version: '1' }, (report) => void reports.push(report))
  }

  const record = (): TraceRecord => {
    const now = Date.now()
    const common = { attributes: {}, isError: false, startedAt: now, endedAt: now + 1 }
    return { ...common, name: 'POST /x', context: createTraceContext({}, 1), phases: [], calls: [] }
  }

  it('counts the spans that a slow collector leaves no room for', async () => {
    const collector = await startSpanCollector()
    process.env[QUEUE] = '20'
    const exporter = startExporter(collector.url)
    try {
      collector.pause()
      for (let n = 0; n < 200; n++) exporter.add(record())
      await waitUntil(() => reports.some(({ error }) => error === 'too many spans wait to be sent'))
      collector.resume()
      await waitUntil(() => total() === 200)
      const taken = reports.filter(({ error }) => error === undefined)
      expect(collector.spans()).to.have.length(taken.reduce((sum, { spans }) => sum + spans, 0))
      expect(collector.spans().length).to.be.within(20, 100)
    } finally {
      delete process.env[QUEUE]
      await exporter.stop()
      collector.close()
    }
  })

  it('does not start a thread again and again that cannot start', async () => {
    // The settings refuse such an address.
    const exporter = startExporter('not a url')
    exporter.add(record())
    await waitUntil(() => reports.length === 1)
    for (let n = 0; n < 3; n++) {
      exporter.add(record())
      await waitUntil(() => reports.length === n + 2)
    }
    expect(reports.slice(1).map(({ error }) => error)).to.deep.equal(
      Array(3).fill('the thread that sends spans has ended'),
    )
    await exporter.stop()
    expect(total()).to.equal(4)
  })
})
