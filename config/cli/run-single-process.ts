import { once } from 'node:events'
import { flushLogs } from '../../core/process/log-destination.ts'
import { createLogger } from '../../core/process/logger.ts'
import { formatBanner, writeReadyLine } from '../gateway/banner.ts'
import { introduceFirstUser } from '../gateway/demo-user.ts'
import { type Gateway, startGateway } from '../gateway/gateway.ts'
import { deleteFromProcessEnv, listSecretVariables } from '../settings/environment.ts'
import type { Settings } from '../settings/settings.ts'

/**
 * Runs the gateway in this process until SIGTERM, SIGINT or SIGHUP. Resolves when everything is closed.
 * `introduce` returns a notice for the person at the terminal.
 */
export async function runSingleProcess(
  settings: Settings,
  introduce: (gateway: Gateway) => Promise<string | undefined> = introduceFirstUser,
): Promise<void> {
  deleteFromProcessEnv(listSecretVariables(settings.providers))
  const logger = createLogger(settings.log_level)
  for (const warning of settings.warnings) logger.warn(warning)
  const stopping = new AbortController()
  // SIGHUP stops as well: nothing can replace a single process, and its supervisor starts it again.
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => once(process, signal))
  const stopped = Promise.race(signals).then(() => stopping.abort())

  const gateway = await startGateway(settings, logger, stopping.signal).catch((error) => {
    if (!stopping.signal.aborted) throw error
  })
  if (gateway === undefined) return
  const notice = await introduce(gateway)
  const banner = formatBanner({ ...gateway, workers: 1, settings })
  process.stderr.write(`${[banner, ...(notice === undefined ? [] : [notice])].join('\n')}\n`)
  writeReadyLine(gateway, logger)

  try {
    await Promise.race([stopped, gateway.state.subscription.ended])
    logger.info('stopping; waiting for requests in flight')
  } finally {
    await gateway.stop()
    await flushLogs()
  }
}
