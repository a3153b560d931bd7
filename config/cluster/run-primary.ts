import nodeCluster from 'node:cluster'
import { once } from 'node:events'
import type { Logger } from 'pino'
import { flushLogs } from '../../core/threads/log-destination.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { AutoResetEvent } from '../../core/util/auto-reset-event.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { formatBanner, writeReadyLine } from '../gateway/banner.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import { Cluster } from './cluster.ts'

/**
 * Runs the gateway in several worker processes until SIGTERM or SIGINT. Resolves when all of them have
 * exited. SIGHUP starts a rolling restart. See docs/decisions/cluster.md, "The primary accepts connections".
 */
export async function runPrimary(environment: Environment, settings: Settings): Promise<void> {
  nodeCluster.schedulingPolicy = nodeCluster.SCHED_RR
  // Another SIGTERM interrupts nothing.
  process.on('SIGTERM', () => undefined)
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  const hangups = new AutoResetEvent()
  process.on('SIGHUP', () => hangups.set())
  const logger = createLogger(settings.log_level, { isShared: true })
  for (const warning of settings.warnings) logger.warn(warning)
  const cluster = new Cluster(logger)
  try {
    await cluster.prepare(settings)
    const { workers } = settings
    const started = cluster.start(workers)
    const addresses = await Promise.race([started, cluster.failed, stopped.then(() => undefined)])
    if (addresses === undefined) return void started.catch(() => undefined)
    const { sandboxUrl } = cluster
    process.stderr.write(`${formatBanner({ ...addresses, workers, sandboxUrl, settings })}\n`)
    writeReadyLine(addresses, logger)
    void restartOnHangup(cluster, hangups, environment, logger)
    await Promise.race([stopped, cluster.failed])
    logger.info('stopping; waiting for requests in flight')
  } finally {
    await cluster.stop()
    await flushLogs()
  }
}

/** Further signals during a rolling restart lead to one more restart. */
async function restartOnHangup(
  cluster: Cluster,
  hangups: AutoResetEvent,
  environment: Environment,
  logger: Logger,
): Promise<void> {
  for (;;) {
    await hangups.wait()
    try {
      const settings = readSettings(environment)
      for (const warning of settings.warnings) logger.warn(warning)
      await cluster.restart(settings)
    } catch (error) {
      if (cluster.isStopping) return
      logger.error({ reason: errorMessage(error) }, 'rolling restart failed; the current workers stay')
    }
  }
}
