import cluster from 'node:cluster'
import { once } from 'node:events'
import type { Logger } from 'pino'
import { createLogger } from '../../core/process/logger.ts'
import { AutoResetEvent } from '../../core/util/auto-reset-event.ts'
import { describeStart, writeReadyLine } from '../cli/banner.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import { type ClusterServices, createClusterServices } from './cluster-services.ts'
import { createWorkerPool, type WorkerPool } from './worker-pool.ts'

/** Runs the gateway in several workers until SIGTERM or SIGINT; resolves when all have ended. SIGHUP renews them one by one. */
export async function runPrimary(environment: Environment, settings: Settings): Promise<void> {
  cluster.schedulingPolicy = cluster.SCHED_RR
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  const hangups = new AutoResetEvent()
  process.on('SIGHUP', () => hangups.set())
  const logger = createLogger(settings.log_level, { isShared: true })
  const office = createClusterServices(() => crew.members(), logger)
  const { spawnWorker, endLimitMs, metrics } = office
  const crew = createWorkerPool({
    spawnWorker: spawnWorker,
    endLimitMs,
    noteRestart: metrics.noteRestart,
    logger,
  })
  try {
    await office.prepare(settings)
    const started = crew.start(settings.workers)
    const service = await Promise.race([started, crew.failed, stopped.then(() => undefined)])
    if (service === undefined) return void started.catch(() => undefined)
    const { workers } = settings
    process.stderr.write(`${describeStart({ ...service, workers, sandboxUrl: office.sandboxUrl() })}\n`)
    process.stdout.write(writeReadyLine(service))
    void renewAtHangups(hangups, { environment, office, crew, logger })
    await Promise.race([stopped, crew.failed])
    logger.info('stopping: running requests may end')
  } finally {
    await crew.stop()
    await office.close()
    logger.flush()
  }
}

interface Parts {
  readonly environment: Environment
  readonly office: ClusterServices
  readonly crew: WorkerPool
  readonly logger: Logger
}

/** Several that come while workers are renewed count as one. */
async function renewAtHangups(
  hangups: AutoResetEvent,
  { environment, office, crew, logger }: Parts,
): Promise<void> {
  for (;;) {
    await hangups.wait()
    try {
      const settings = readSettings(environment)
      await office.prepare(settings)
      logger.info({ workers: settings.workers }, 'renewing the workers')
      await crew.rollingRestart(settings.workers)
      logger.info('the workers are renewed')
    } catch (error) {
      if (crew.isStopping()) return
      const reason = error instanceof Error ? error.message : error
      logger.error({ reason }, 'the workers could not be renewed; those that serve go on')
    }
  }
}
