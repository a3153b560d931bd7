import { service } from '../../core/contract/index.ts'

/** The OpenTelemetry collector that spans are sent to. */
export interface Collector {
  /** Its base URL. */
  readonly endpoint: string | undefined
}

export const Collector = service<Collector>('tracing.collector')
