import { once } from 'node:events'
import { createLogger } from '../../core/process/logger.ts'
import { startGateway } from '../gateway.ts'
import { forgetSecrets, listSecrets } from '../settings/environment.ts'
import type { Settings } from '../settings/settings.ts'
import { createDemoUser, describeDemo, describeStart, writeReadyLine } from './banner.ts'
/** Runs the gateway in this process until it is told to stop; resolves when everything is let go of. */
export async function runAlone(settings: Settings): Promise<void> {
  forgetSecrets(listSecrets(settings.providers))
  const logger = createLogger(settings.log_level)
  const stopping = new AbortController()
  // Nothing can take the place of a single process: what asks several for a restart ends it as well.
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'].map((signal) => once(process, signal))
  const stopped = Promise.race(signals).then(() => stopping.abort())

  const gateway = await startGateway(settings, logger, stopping.signal).catch((error) => {
    if (!stopping.signal.aborted) throw error
  })
  if (gateway === undefined) return
  const demoKey = await createDemoUser(gateway.state)
  const demo = demoKey === undefined ? [] : [describeDemo(gateway.baseUrl, demoKey)]
  process.stderr.write(`${[describeStart({ ...gateway, workers: 1 }), ...demo].join('\n')}\n`)
  process.stdout.write(writeReadyLine(gateway))

  try {
    await Promise.race([stopped, gateway.state.subscription.ended])
    logger.info('stopping: running requests may end')
  } finally {
    await gateway.stop()
    logger.flush()
  }
}
