import type { Logger } from 'pino'
import { Gauge, type GaugeConfiguration, type Registry } from 'prom-client'
import { createSecretRedactor } from '../../../core/secrets/redact-secrets.ts'
import { createCounter } from '../../../core/util/metrics.ts'
import { showRecord } from '../show-record.ts'
import type { NumberedRecord } from '../store/export-queue.ts'
import type { LedgerCalls } from '../store/methods.ts'
import { showToolCall } from '../tool-call-endpoints.ts'
import { type Exporter, startExporter } from './exporter.ts'
import type { ExportedRecord } from './target.ts'
import { type ExportRow, openTarget } from './targets.ts'

interface ExportsOptions {
  readonly rows: readonly ExportRow[]
  readonly leaseSeconds: number
  readonly secret: string | undefined
  readonly ledger: LedgerCalls
  readonly logger: Logger
  readonly metrics: Registry
}

const OUTCOMES = ['exported', 'refused', 'missed'] as const

/** Starts the exports of the setting `ledger.export` (docs/guides/ledger-export.md). */
export function startExports(options: ExportsOptions): { close(): Promise<void> } {
  const { rows, leaseSeconds, secret, ledger, logger, metrics } = options
  const records = createCounter(metrics, {
    name: 'signalbox_ledger_export_records_total',
    help: 'Records by target and outcome: exported, refused (by the target), missed (deleted before).',
    labelNames: ['target', 'outcome'],
  })
  const failures = createCounter(metrics, {
    name: 'signalbox_ledger_export_failures_total',
    help: 'Attempts to send records that failed, by target.',
    labelNames: ['target'],
  })
  const { text: redact } = createSecretRedactor([secret])
  const exporters = new Map<string, Exporter>()
  for (const row of rows) {
    const { name, ...target } = openTarget(row, { secret })
    const failed = failures(name)
    const counted = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, records(name, outcome)]))
    const exporter = startExporter({
      ...{ name, ...target, leaseMs: leaseSeconds * 1000, ledger, redact, logger, toExported },
      count: (outcome, by) => (counted[outcome] ?? failed).inc(by),
    })
    exporters.set(name, exporter)
  }
  addGauges(metrics, exporters)
  return {
    close: async () => void (await Promise.all([...exporters.values()].map((exporter) => exporter.close()))),
  }
}

function toExported(numbered: NumberedRecord): ExportedRecord {
  const { number, writtenAt, kind } = numbered
  const fields = kind === 'request' ? showRecord(numbered.record) : showToolCall(numbered.record)
  return { number, writtenAt, kind, fields }
}

/** Every node shows how far a target is, whichever of them exports. */
function addGauges(metrics: Registry, exporters: ReadonlyMap<string, Exporter>): void {
  const set = (gauge: Gauge, read: (state: NonNullable<ReturnType<Exporter['state']>>) => number) => {
    for (const [target, exporter] of exporters) {
      const state = exporter.state()
      if (state !== undefined) gauge.set({ target }, read(state))
    }
  }
  const common = {
    labelNames: ['target'],
    registers: [metrics],
    aggregator: 'max',
  } satisfies Partial<GaugeConfiguration<'target'>>
  new Gauge({
    name: 'signalbox_ledger_export_lag_seconds',
    help: 'Age of the oldest record that was not exported, by target; 0 without one.',
    ...common,
    collect() {
      set(this, ({ oldest }) => (oldest === null ? 0 : Math.max(0, (Date.now() - oldest) / 1000)))
    },
  })
  new Gauge({
    name: 'signalbox_ledger_export_waiting_records',
    help: 'Records that were not exported yet, by target.',
    ...common,
    collect() {
      set(this, ({ last, position }) => last - position)
    },
  })
}
