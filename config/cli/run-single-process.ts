import { once } from 'node:events'
import { flushLogs } from '../../core/threads/log-destination.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { hasRunPlugins } from '../../core/util/plugin-context.ts'
import { formatBanner, writeReadyLine } from '../gateway/banner.ts'
import { introduceFirstUser } from '../gateway/demo-user.ts'
import { type FatalErrors, watchFatalErrors } from '../gateway/fatal-errors.ts'
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
  // Another one interrupts nothing: service managers may send it twice. A second SIGINT ends the process.
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => undefined)
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => once(process, signal))
  const fatal = watchFatalErrors(logger, () => settings.timeouts.drain_ms)
  const stopped = Promise.race([...signals, fatal.first]).then(() => stopping.abort())

  const gateway = await startGateway(settings, logger, stopping.signal).catch((error) => {
    if (!stopping.signal.aborted) throw error
  })
  if (gateway === undefined) return endWithPlugins(fatal)
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
    endWithPlugins(fatal)
  }
}

/** The timers of plugins would keep the process alive. Without plugin packages, it ends by itself. */
function endWithPlugins({ error }: FatalErrors): void {
  if (error !== undefined) process.exitCode = 1
  if (error !== undefined || hasRunPlugins()) process.exit()
}
