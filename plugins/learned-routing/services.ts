import type { EventLog } from '../../core/contract/index.ts'
import type { TrainedModels } from '../../core/events/router-events.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Routers, RouterVersion } from '../../projections/routers.ts'
import type { Subscription } from '../../projections/runtime/subscribe.ts'
import type { RouterCommands } from './router-commands.ts'
import type { RouterWhatIf } from './schemas.ts'
import type { TrainerServices } from './trainer.ts'

/** What the endpoints for routers depend on. */
export interface RouterServices {
  readonly routers: Routers
  readonly groups: Pick<Groups, 'group'>
  readonly log: Pick<EventLog, 'read'>
  readonly subscription: Pick<Subscription, 'position'>
  readonly commands: RouterCommands
  readonly trainer: TrainerServices
  /** Decides recorded requests again with a version. Rejects if it cannot be used or the signal aborts. */
  replay(
    router: RouterVersion,
    models: TrainedModels,
    range: ReplayRange,
    signal: AbortSignal,
  ): Promise<RouterWhatIf>
}

/** Which requests are decided again: Unix times in milliseconds, and their maximum number. */
export interface ReplayRange {
  readonly since: number
  readonly until: number
  readonly limit: number
}
