import { expect } from 'chai'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { type RunningKafka, requireKafka } from '../support/kafka.ts'
import { ask, exportingTo, exportsBegan, idOf, recordedIds } from '../support/ledger-export.ts'
import { scrapeUntil } from '../support/metrics.ts'
import { withSettings } from '../support/settings.ts'

const TOPIC = 'ledger'

describe('the ledger export to Kafka', () => {
  let kafka: RunningKafka | undefined
  before(async function () {
    this.timeout(120_000)
    kafka = await requireKafka(this)
  })
  after(() => kafka?.kill())

  it('sends all that was recorded while the broker was away or the gateway dead, in order', async function () {
    this.timeout(180_000)
    if (kafka === undefined) return
    const settings = exportingTo([{ to: 'kafka', brokers: [kafka.broker], topic: TOPIC }])
    const environment = await withSettings(settings)
    const first = await startGatewayProcess(environment)
    await exportsBegan(first, 1)
    await ask(first)
    await scrapeUntil(first, ({ sum }) => sum('signalbox_ledger_export_failures_total') > 0)
    await kafka.createTopic(TOPIC, 3)
    await kafka.read(TOPIC, 1)

    await kafka.kill()
    await Promise.all(Array.from({ length: 10 }, () => ask(first)))
    await scrapeUntil(first, ({ sum }) => sum('signalbox_ledger_export_waiting_records') >= 10)
    await first.stop('SIGKILL')
    await kafka.restart()
    const { dataDir, demoKey } = first
    const second = await startGatewayProcess(environment, { dataDir, demoKey })
    await ask(second)
    const recorded = await recordedIds(second)
    const messages = await kafka.read(TOPIC, recorded.length)
    const lines = messages.map(({ value }) => JSON.parse(value))
    expect(lines.map(idOf)).to.have.members(recorded)
    expect(new Set(messages.map(({ partition }) => partition)).size).to.equal(1)
    for (const [index, { key, headers }] of messages.entries()) {
      expect(key).to.equal(String(lines[index].user_id))
      expect(headers.get('kind')).to.equal('request')
    }
    const numbers = lines.map(({ number }) => number)
    expect(numbers).to.deep.equal(numbers.toSorted((a, b) => a - b))
    await kafka.kill()
    const last = await ask(second)
    await scrapeUntil(second, ({ sum }) => sum('signalbox_ledger_export_failures_total') > 0)
    await kafka.restart()
    const [newest] = (await kafka.read(TOPIC, recorded.length + 1)).slice(-1)
    expect(idOf(JSON.parse(newest?.value ?? ''))).to.equal(last)
    await second.stop()
  })
})
