import { Gauge, type Registry } from 'prom-client'
import { createCounter, createHistogram } from '../../core/util/metrics.ts'
import { CIRCUIT_STATES } from '../../providers/shared/model-breaker.ts'
import type { ToolCallLedger } from '../ledger/index.ts'
import type { Upstreams } from './upstream/servers.ts'

/** Counts calls, and passes their records on to the ledger if there is one. */
export function countCalls(ledger: ToolCallLedger | undefined, metrics: Registry): ToolCallLedger {
  const calls = createCounter(metrics, {
    name: 'signalbox_tool_calls_total',
    help: 'Calls of tools by server, by what became of them, and by the code of the error if there was one.',
    labelNames: ['server', 'verdict', 'error_code'],
  })
  const duration = createHistogram(metrics, {
    name: 'signalbox_tool_server_duration_seconds',
    help: 'How long tool servers took for calls that were sent to them, without waiting for clients.',
    labelNames: ['server'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  })
  return {
    record(call, called) {
      const { server, verdict, errorCode } = call
      const counted = errorCode === undefined ? calls(server, verdict) : calls(server, verdict, errorCode)
      counted.inc()
      if (call.upstreamMs > 0) duration(server).observe(call.upstreamMs / 1000)
      ledger?.record(call, called)
    },
  }
}

/** Registers gauges of whether servers answer, computed on each scrape. */
export function registerServerMetrics(
  metrics: Registry,
  upstreams: Pick<Upstreams, 'contacts' | 'circuits'>,
): void {
  new Gauge({
    name: 'signalbox_tool_server_up',
    help: '1 if the tool server answered the last request of the last 10 minutes, else 0.',
    labelNames: ['server'],
    aggregator: 'min',
    registers: [metrics],
    collect() {
      this.reset()
      for (const { server, isUp } of upstreams.contacts()) this.set({ server }, isUp ? 1 : 0)
    },
  })
  registerCircuitGauge('signalbox_tool_server_breakers', false, {
    help: 'Tool servers that have been called, by circuit breaker state.',
  })
  registerCircuitGauge('signalbox_tool_server_caller_breakers', true, {
    help: 'Pairs of a tool server and a caller whose circuit is not closed for this caller alone.',
  })

  function registerCircuitGauge(
    name: string,
    isOfCaller: boolean,
    { help }: { readonly help: string },
  ): void {
    const states = CIRCUIT_STATES.filter((state) => !isOfCaller || state !== 'closed')
    new Gauge({
      ...{ name, help, labelNames: ['server', 'state'], registers: [metrics] },
      collect() {
        this.reset()
        for (const circuit of upstreams.circuits()) {
          if (circuit.isOfCaller !== isOfCaller) continue
          const { server } = circuit
          for (const state of states) this.inc({ server, state }, state === circuit.state ? 1 : 0)
        }
      },
    })
  }
}
