import cluster from 'node:cluster'
import { once } from 'node:events'
import type { Logger } from 'pino'
import { Bell } from '../../core/log/bell.ts'
import { describeStart, writeReadyLine } from '../banner.ts'
import type { Environment } from '../environment.ts'
import { createLogger } from '../logger.ts'
import { readSettings, type Settings } from '../settings.ts'
import { type Crew, createCrew } from './crew.ts'
import { type Office, openOffice } from './office.ts'

/** Runs the gateway in several workers until SIGTERM or SIGINT; resolves when all have ended. SIGHUP renews them one by one. */
export async function runPrimary(environment: Environment, settings: Settings): Promise<void> {
  cluster.schedulingPolicy = cluster.SCHED_RR
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')])
  const hangups = new Bell()
  process.on('SIGHUP', () => hangups.ring())
  const logger = createLogger(settings.log_level, { isShared: true })
  const office = openOffice(() => crew.members(), logger)
  const { hire, endLimitMs, metrics } = office
  const crew = createCrew({ hire, endLimitMs, noteRestart: metrics.noteRestart, logger })
  try {
    await office.arrange(settings)
    const started = crew.start(settings.workers)
    const service = await Promise.race([started, crew.lost, stopped.then(() => undefined)])
    if (service === undefined) return void started.catch(() => undefined)
    const { workers } = settings
    process.stderr.write(`${describeStart({ ...service, workers, sandboxUrl: office.sandboxUrl() })}\n`)
    process.stdout.write(writeReadyLine(service))
    void renewAtHangups(hangups, { environment, office, crew, logger })
    await Promise.race([stopped, crew.lost])
    logger.info('stopping: running requests may end')
  } finally {
    await crew.stop()
    await office.close()
    logger.flush()
  }
}

interface Parts {
  readonly environment: Environment
  readonly office: Office
  readonly crew: Crew
  readonly logger: Logger
}

/** Several that come while workers are renewed count as one. */
async function renewAtHangups(hangups: Bell, { environment, office, crew, logger }: Parts): Promise<void> {
  for (;;) {
    await hangups.heard()
    try {
      const settings = readSettings(environment)
      await office.arrange(settings)
      logger.info({ workers: settings.workers }, 'renewing the workers')
      await crew.renew(settings.workers)
      logger.info('the workers are renewed')
    } catch (error) {
      if (crew.isStopping()) return
      const reason = error instanceof Error ? error.message : error
      logger.error({ reason }, 'the workers could not be renewed; those that serve go on')
    }
  }
}
