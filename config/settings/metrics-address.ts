import type { Settings } from './settings.ts'

/** The separate address of `/metrics`; undefined when it is served on the main address. */
export function metricsAddress({ host, metrics_port }: Settings) {
  return typeof metrics_port === 'number' ? { host, port: metrics_port } : undefined
}
