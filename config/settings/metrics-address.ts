import type { Settings } from './settings.ts'

/** Where the metrics have a place of their own. */
export function metricsAddress({ host, metrics_port }: Settings) {
  return typeof metrics_port === 'number' ? { host, port: metrics_port } : undefined
}
