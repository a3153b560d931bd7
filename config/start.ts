import { once } from 'node:events'
import { describeStart } from './banner.ts'
import { createDemoUser } from './demo-user.ts'
import type { Environment } from './environment.ts'
import { startGateway } from './gateway.ts'
import { createLogger } from './logger.ts'
import { forgetSecrets, listSecrets } from './secrets.ts'
import { readSettings } from './settings.ts'

/** Runs the gateway until SIGTERM or SIGINT; resolves when everything is let go of. */
export async function runGateway(environment: Environment): Promise<void> {
  const settings = readSettings(environment)
  forgetSecrets(listSecrets(settings.providers))
  const logger = createLogger(settings.log_level)
  const stopping = new AbortController()
  const stopped = Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]).then(() =>
    stopping.abort(),
  )

  const gateway = await startGateway(settings, logger, stopping.signal).catch((error) => {
    if (!stopping.signal.aborted) throw error
  })
  if (gateway === undefined) return
  const demoKey = await createDemoUser(gateway.state)
  process.stderr.write(`${describeStart(gateway, demoKey)}\n`)
  const ready = { ready: true, base_url: gateway.baseUrl, route_base_url: gateway.routeBaseUrl }
  process.stdout.write(`${JSON.stringify(ready)}\n`)

  await Promise.race([stopped, gateway.state.live.ended])
  logger.info('stopping: running requests may end')
  await gateway.stop()
  logger.flush()
}
