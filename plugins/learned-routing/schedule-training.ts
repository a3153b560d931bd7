import type { Logger } from 'pino'
import { GatewayError } from '../../core/contract/index.ts'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import type { Routers } from '../../projections/routers.ts'
import { isOfScope } from './show-router.ts'
import { type TrainerServices, trainVersion } from './trainer.ts'

const EVERYONE = { everyone: true } as const
const HOUR_MS = 3_600_000
/** How often it is checked whether a training is due. */
const CHECK_MS = 600_000

/**
 * Trains the router for everyone when its newest version is old enough. Of several nodes that do so at the
 * same time, the first one writes its version. Returns a function that stops it.
 */
export function scheduleTraining(
  everyHours: number,
  routers: Pick<Routers, 'versions'>,
  trainer: TrainerServices,
  logger: Logger,
): () => void {
  if (everyHours === 0) return () => undefined
  let isRunning = false

  async function trainIfDue(): Promise<void> {
    const newest = routers.versions().findLast((router) => isOfScope(router, EVERYONE))
    const age = newest ? Date.now() - Date.parse(newest.trainedAt) : Number.POSITIVE_INFINITY
    if (isRunning || age < everyHours * HOUR_MS) return
    isRunning = true
    try {
      const { version } = await trainVersion(
        EVERYONE,
        { actor: SYSTEM_ACTOR, reason: 'scheduled training' },
        trainer,
        { after: newest?.version ?? 0 },
      )
      logger.info({ version }, 'version of the router trained')
    } catch (error) {
      const reason = errorMessage(error)
      if (GatewayError.isInstance(error) && error.code === 'conflict')
        logger.debug({ reason }, 'no version of the router trained')
      else logger.warn({ reason }, 'training of the router failed')
    } finally {
      isRunning = false
    }
  }

  const timer = setInterval(() => void trainIfDue(), CHECK_MS).unref()
  void trainIfDue()
  return () => clearInterval(timer)
}
