import type { Logger } from 'pino'
import type { Author } from '../../core/contract/index.ts'
import { CLI_ACTOR } from '../../core/event-log/actor.ts'
import { MAX_REASON_LENGTH } from '../../core/http/change-headers.ts'
import { createLogger } from '../../core/threads/logger.ts'
import type { openEmptyState } from '../gateway/empty-state.ts'
import { type OfflineGateway, openOfflineGateway } from '../gateway/offline-gateway.ts'
import { type OpenState, openState } from '../gateway/state.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings, type Settings } from '../settings/settings.ts'
import { type CommandArgs, UsageError } from './command.ts'

/** Returns the author of events of a command. Throws a `UsageError` for an invalid reason. */
export function authorOf({ options }: Pick<CommandArgs, 'options'>): Author {
  const text = options.get('reason')
  const reason = text?.trim()
  if (reason === undefined) return { actor: CLI_ACTOR }
  if (reason.length > 0 && reason.length <= MAX_REASON_LENGTH) return { actor: CLI_ACTOR, reason }
  throw new UsageError(`REASON must have 1 to ${MAX_REASON_LENGTH} characters.`)
}

type Run<Opened, Result> = (opened: Opened, settings: Settings, logger: Logger) => Promise<Result>

/** Runs a function with the state that the settings name, and closes it. */
export async function withState<Result>(
  environment: Environment,
  run: Run<OpenState, Result>,
  open: typeof openState | typeof openEmptyState = openState,
): Promise<Result> {
  const settings = readSettings(environment)
  const logger = createLogger(settings.log_level)
  const state = await open(settings, logger)
  try {
    return await run(state, settings, logger)
  } finally {
    await state.close()
  }
}

/** As `withState`, with the listed plugins, which decide about requests. */
export function withGateway<Result>(
  environment: Environment,
  run: Run<OpenState & OfflineGateway, Result>,
  open?: typeof openState | typeof openEmptyState,
): Promise<Result> {
  const runWithPlugins: Run<OpenState, Result> = async (state, settings, logger) => {
    const gateway = await openOfflineGateway(settings, state, logger)
    try {
      return await run({ ...state, ...gateway }, settings, logger)
    } finally {
      await gateway.close()
    }
  }
  return withState(environment, runWithPlugins, open)
}
