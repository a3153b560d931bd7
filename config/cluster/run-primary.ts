import cluster from 'node:cluster'
import { once } from 'node:events'
import type { Logger } from 'pino'
import { createLogger } from '../../core/process/logger.ts'
import { AutoResetEvent } from '../../core/util/auto-reset-event.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { formatBanner, formatReadyLine } from '../cli/banner.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import { type ClusterServices, createClusterServices } from './cluster-services.ts'
import { createWorkerPool, type WorkerPool } from './worker-pool.ts'

/**
 * Runs the gateway in several worker processes until SIGTERM or SIGINT. Resolves when all of them have
 * exited. SIGHUP starts a rolling restart.
 */
export async function runPrimary(environment: Environment, settings: Settings): Promise<void> {
  cluster.schedulingPolicy = cluster.SCHED_RR
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  const hangups = new AutoResetEvent()
  process.on('SIGHUP', () => hangups.set())
  const logger = createLogger(settings.log_level, { isShared: true })
  const services = createClusterServices(() => pool.workers(), logger)
  const { spawnWorker, exitTimeoutMs, metrics } = services
  const pool = createWorkerPool({
    spawnWorker,
    exitTimeoutMs,
    countRestart: metrics.countRestart,
    logger,
  })
  try {
    await services.prepare(settings)
    const started = pool.start(settings.workers)
    const addresses = await Promise.race([started, pool.failed, stopped.then(() => undefined)])
    if (addresses === undefined) return void started.catch(() => undefined)
    const { workers } = settings
    const banner = formatBanner({ ...addresses, workers, sandboxUrl: services.sandboxUrl() })
    process.stderr.write(`${banner}\n`)
    process.stdout.write(formatReadyLine(addresses))
    void restartOnHangup(hangups, { environment, services, pool, logger })
    await Promise.race([stopped, pool.failed])
    logger.info('stopping; waiting for requests in flight')
  } finally {
    await pool.stop()
    await services.close()
    logger.flush()
  }
}

interface RestartDeps {
  readonly environment: Environment
  readonly services: ClusterServices
  readonly pool: WorkerPool
  readonly logger: Logger
}

/** Several signals during one rolling restart lead to one more. */
async function restartOnHangup(
  hangups: AutoResetEvent,
  { environment, services, pool, logger }: RestartDeps,
): Promise<void> {
  for (;;) {
    await hangups.wait()
    try {
      const settings = readSettings(environment)
      await services.prepare(settings)
      logger.info({ workers: settings.workers }, 'rolling restart started')
      await pool.rollingRestart(settings.workers)
      logger.info('rolling restart completed')
    } catch (error) {
      if (pool.isStopping()) return
      logger.error({ reason: errorMessage(error) }, 'rolling restart failed; the current workers stay')
    }
  }
}
