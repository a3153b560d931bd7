import { once } from 'node:events'
import type { Logger } from 'pino'
import { createLogger } from '../../core/process/logger.ts'
import type { RpcTransport } from '../../core/process/rpc.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { createDemoUser, describeDemo } from '../cli/banner.ts'
import { type Gateway, startGateway } from '../gateway.ts'
import { type Environment, forgetSecrets, listSecrets } from '../settings/environment.ts'
import { readSettings } from '../settings/settings.ts'
import { connectToPrimary, type PrimaryConnection } from './cluster-peer.ts'
import type { WorkerEnv } from './worker-env.ts'

/** Serves as one of several workers until it is told to stop. When the primary dies, node:cluster ends this process at once. */
export async function runWorker(environment: Environment, assignment: WorkerEnv): Promise<never> {
  // A terminal that closes tells every process; what comes of it is for the primary to say.
  process.on('SIGHUP', () => undefined)
  const stopping = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => stopping.abort())
  const ties = connectToPrimary(PRIMARY, assignment)
  const logger = createLogger('info', { isShared: true, worker: assignment.number })
  const gateway = await start(environment, assignment, ties, logger, stopping.signal).catch(async (error) => {
    if (stopping.signal.aborted) process.exit(0)
    await ties.refuse(errorMessage(error))
    process.exit(1)
  })
  const code = await serve(gateway, ties, logger, stopping.signal).catch((err) => {
    logger.fatal({ err }, 'the worker failed')
    return 1
  })
  process.exit(code)
}

const PRIMARY: RpcTransport = {
  // Without the primary there is nobody left to tell.
  send: (message) => void process.send?.(message, undefined, undefined, () => undefined),
  listen: (receive) => void process.on('message', receive),
}

async function start(
  environment: Environment,
  { number, port, routePort }: WorkerEnv,
  ties: PrimaryConnection,
  logger: Logger,
  signal: AbortSignal,
): Promise<Gateway> {
  const settings = readSettings(environment)
  forgetSecrets(listSecrets(settings.providers))
  logger.level = settings.log_level
  const gateway = await startGateway({ ...settings, port, route_port: routePort }, logger, signal, ties)
  if (number === 1) await greet(gateway)
  await ties.serve(gateway)
  return gateway
}

/** The key goes from here to the terminal, and not through the primary. */
async function greet({ state, baseUrl }: Gateway): Promise<void> {
  const demoKey = await createDemoUser(state)
  if (demoKey !== undefined) process.stderr.write(`${describeDemo(baseUrl, demoKey)}\n`)
}

/** Resolves with the exit code when everything is let go of. */
async function serve(
  gateway: Gateway,
  ties: PrimaryConnection,
  logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  const failure = await Promise.race([stopped, ties.retired, gateway.state.subscription.ended]).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (failure === undefined) logger.info('stopping: running requests may end')
  else logger.fatal({ err: failure }, 'the event log cannot be followed any further')
  void stopped.then(gateway.stop)
  await (failure === undefined && !signal.aborted ? gateway.drain() : gateway.stop())
  await ties.leave().catch(() => undefined)
  return failure === undefined ? 0 : 1
}
