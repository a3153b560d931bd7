import type { Logger } from 'pino'
import type { Listener } from '../../core/http/server/hardened-server.ts'
import type { Ledger } from '../../plugins/ledger/store/methods.ts'
import { type MetricsPage, serveMetrics } from '../../plugins/metrics/endpoint.ts'
import type { Sandbox } from '../../providers/sandbox/server.ts'
import { openOwnLedger } from '../gateway/ledger.ts'
import { metricsAddress, needsSandbox, type Settings } from '../settings/settings.ts'
import { reservePorts, type SharedPorts } from './ports.ts'

/**
 * The ports, the metrics address and the sandbox of a cluster. They outlive single workers. See
 * docs/decisions/cluster.md, "The primary owns ports, sandbox and metrics address".
 */
export class SharedResources {
  readonly #metrics: MetricsPage
  readonly #logger: Logger
  #settings: Settings | undefined
  #ports: SharedPorts | undefined
  #sandbox: Sandbox | undefined
  #metricsListener: Listener | undefined
  #ledger: Ledger | undefined

  /** `metrics` is the page that is served at the metrics address, if there is one. */
  constructor(metrics: MetricsPage, logger: Logger) {
    this.#metrics = metrics
    this.#logger = logger
  }

  /**
   * Opens what workers with these settings need. If it rejects, workers can still run with the previous
   * settings.
   */
  async prepare(settings: Settings): Promise<void> {
    if (needsSandbox(settings)) this.#sandbox ??= await openSandbox()
    await this.#moveMetricsListener(settings)
    this.#ports = await reservePorts(settings, this.#ports)
    this.#settings = settings
  }

  /** Throws unless `prepare` has succeeded. */
  get ports(): SharedPorts {
    if (this.#ports === undefined) throw new Error('SharedResources.prepare must succeed first.')
    return this.#ports
  }

  /** Undefined until settings without any provider key were prepared. */
  get sandboxUrl(): string | undefined {
    return this.#sandbox?.url
  }

  /** Opens the request ledger of the event log, which the workers have opened. */
  openLedger(logId: string): void {
    if (this.#settings === undefined) throw new Error('SharedResources.prepare must succeed first.')
    this.#ledger ??= openOwnLedger(this.#settings, logId, this.#logger)
  }

  /** Throws unless a worker has opened the ledger. */
  get ledger(): Ledger {
    if (this.#ledger === undefined) throw new Error('The request ledger was not opened.')
    return this.#ledger
  }

  async close(): Promise<void> {
    this.#ports?.release()
    await Promise.all([this.#metricsListener?.stop(0), this.#sandbox?.close(), this.#ledger?.close()])
  }

  async #moveMetricsListener(settings: Settings): Promise<void> {
    const address = metricsListenerAddress(settings)
    const current = this.#settings && metricsListenerAddress(this.#settings)
    if (this.#settings && JSON.stringify(address) === JSON.stringify(current)) return
    const previous = this.#metricsListener
    this.#metricsListener = address && (await serveMetrics(this.#metrics, address.host, address.port))
    if (this.#metricsListener)
      this.#logger.info({ url: `${this.#metricsListener.url}/metrics` }, 'metrics address opened')
    await previous?.stop(0)
  }
}

/** The address at which the primary serves the aggregated metrics; undefined when a worker serves them. */
function metricsListenerAddress(settings: Settings) {
  return settings.plugins.some(({ use }) => use === 'metrics') ? metricsAddress(settings) : undefined
}

/** Imported on demand: most installations have provider keys and never load the sandbox. */
async function openSandbox(): Promise<Sandbox> {
  const { startSandbox } = await import('../../providers/sandbox/server.ts')
  return startSandbox()
}
