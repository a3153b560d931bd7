import { Gauge, type Registry } from 'prom-client'
import { BREAKER_STATES, type CircuitBreakers } from '../../providers/health.ts'

/** How many models of each provider are in which state; counted when somebody looks. */
export function showBreakers(
  metrics: Registry,
  health: CircuitBreakers,
  providers: ReadonlySet<string>,
): void {
  new Gauge({
    name: 'signalbox_provider_breakers',
    help: 'Models that were called, by the state of their breaker.',
    labelNames: ['provider', 'state'],
    registers: [metrics],
    collect() {
      for (const provider of providers) for (const state of BREAKER_STATES) this.set({ provider, state }, 0)
      for (const { provider, state } of health.breakers())
        if (providers.has(provider)) this.inc({ provider, state })
    },
  })
}
