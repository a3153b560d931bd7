import { Counter, type Registry } from 'prom-client'
import { countDroppedLogLines } from '../../core/threads/log-destination.ts'

/** Registers the count of log lines of this process that could not be written. */
export function registerLogMetrics(registry: Registry): void {
  new Counter({
    name: 'signalbox_log_lines_dropped_total',
    help: 'Log lines that were dropped, because they could not be written or their reader is too slow.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(countDroppedLogLines())
    },
  })
}
