import type { Registry } from 'prom-client'
import { createCounter, createHistogram } from '../../core/util/metrics.ts'
import type { ToolCallLedger } from '../ledger/index.ts'

/** Counts calls, and passes their records on to the ledger if there is one. */
export function countCalls(ledger: ToolCallLedger | undefined, metrics: Registry): ToolCallLedger {
  const calls = createCounter(metrics, {
    name: 'signalbox_tool_calls_total',
    help: 'Calls of tools by server and by what became of them.',
    labelNames: ['server', 'verdict'],
  })
  const duration = createHistogram(metrics, {
    name: 'signalbox_tool_server_duration_seconds',
    help: 'How long tool servers took for calls that were sent to them.',
    labelNames: ['server'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  })
  return {
    record(call, called) {
      calls(call.server, call.verdict).inc()
      if (call.upstreamMs > 0) duration(call.server).observe(call.upstreamMs / 1000)
      ledger?.record(call, called)
    },
  }
}
