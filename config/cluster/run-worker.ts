import { once } from 'node:events'
import type { Logger } from 'pino'
import { flushLogs } from '../../core/threads/log-destination.ts'
import { createLogger } from '../../core/threads/logger.ts'
import type { RpcTransport } from '../../core/threads/rpc.ts'
import { endIfThreadsAreStuck } from '../../core/threads/thread.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { introduceFirstUser } from '../gateway/demo-user.ts'
import { exitCodeOf } from '../gateway/exit-codes.ts'
import { watchFatalErrors } from '../gateway/fatal-errors.ts'
import { type Gateway, startGateway } from '../gateway/gateway.ts'
import { deleteFromProcessEnv, type Environment, listSecretVariables } from '../settings/environment.ts'
import { readSettings } from '../settings/settings.ts'
import { connectToPrimary, type PrimaryConnection } from './primary-connection.ts'
import { watchHeartbeat } from './watch-heartbeat.ts'
import type { WorkerEnv } from './worker-env.ts'

/**
 * Serves as one of several workers until the primary or a signal stops it. If the primary dies, node:cluster
 * terminates this process immediately.
 */
export async function runWorker(environment: Environment, workerEnv: WorkerEnv): Promise<never> {
  // A closing terminal signals the whole process group. Only the primary reacts to SIGHUP.
  process.on('SIGHUP', () => undefined)
  const stopping = new AbortController()
  // More than once: a service manager may send SIGTERM to each process, and the primary then sends another.
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => stopping.abort())
  const primary = connectToPrimary(PRIMARY_TRANSPORT, workerEnv)
  const logger = createLogger('info', { isShared: true, worker: workerEnv.number })
  const fatal = watchFatalErrors(logger, () => readSettings(environment).timeouts.drain_ms)
  void fatal.first.then(() => stopping.abort())
  const starting = startWorker(environment, workerEnv, primary, logger, stopping.signal)
  const gateway = await starting.catch(async (error) => {
    if (stopping.signal.aborted && fatal.error === undefined) process.exit(0)
    const reason = fatal.error ?? error
    await primary.reportStartFailed(errorMessage(reason))
    process.exit(exitCodeOf(reason))
  })
  const exitCode = await serve(gateway, primary, logger, stopping.signal).catch((err) => {
    logger.fatal({ err }, 'worker failed')
    return exitCodeOf(err)
  })
  await flushLogs()
  endIfThreadsAreStuck()
  process.exit(fatal.error === undefined ? exitCode : 1)
}

const PRIMARY_TRANSPORT: RpcTransport = {
  // Errors are ignored: without the primary this process is about to end.
  send: (message) => void process.send?.(message, undefined, undefined, () => undefined),
  listen: (receive) => void process.on('message', receive),
}

async function startWorker(
  environment: Environment,
  { number, port, routePort }: WorkerEnv,
  primary: PrimaryConnection,
  logger: Logger,
  signal: AbortSignal,
): Promise<Gateway> {
  const settings = readSettings(environment)
  deleteFromProcessEnv(listSecretVariables(settings.providers))
  logger.level = settings.log_level
  const gateway = await startGateway({ ...settings, port, route_port: routePort }, logger, signal, {
    peer: primary,
  })
  if (number === 1) await showFirstUser(gateway)
  await primary.reportReady(gateway)
  watchPrimary(primary, settings.timeouts.heartbeat_ms * PRIMARY_HEARTBEATS, logger)
  return gateway
}

/** The primary may miss more heartbeats than a worker, because its end is that of all workers. */
const PRIMARY_HEARTBEATS = 6

/** Kills a primary that hangs. See docs/decisions/cluster.md, "A primary that hangs is killed". */
function watchPrimary(primary: PrimaryConnection, timeoutMs: number, logger: Logger): void {
  watchHeartbeat({
    timeoutMs,
    ping: () => primary.ping(timeoutMs),
    onMissed() {
      logger.fatal({ timeoutMs, pid: process.ppid }, 'the primary process does not respond; killing it')
      logger.flush()
      process.kill(process.ppid, 'SIGKILL')
    },
  })
}

/** Writes the key of the demo user directly to the terminal; it never passes through the primary. */
async function showFirstUser(gateway: Gateway): Promise<void> {
  const notice = await introduceFirstUser(gateway)
  if (notice !== undefined) process.stderr.write(`${notice}\n`)
}

/** Resolves with the exit code once everything is closed. */
async function serve(
  gateway: Gateway,
  primary: PrimaryConnection,
  logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const stopped = signal.aborted ? Promise.resolve() : once(signal, 'abort')
  const failure = await Promise.race([
    stopped,
    primary.drainRequested,
    gateway.state.subscription.ended,
  ]).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (failure === undefined) logger.info('stopping; waiting for requests in flight')
  else logger.fatal({ err: failure }, 'event log subscription failed')
  void stopped.then(gateway.stop)
  await (failure === undefined && !signal.aborted ? gateway.drain() : gateway.stop())
  await primary.unregister().catch(() => undefined)
  return failure === undefined ? 0 : exitCodeOf(failure)
}
