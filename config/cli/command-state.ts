import type { Author } from '../../core/contract/index.ts'
import { CLI_ACTOR } from '../../core/event-log/actor.ts'
import { MAX_REASON_LENGTH } from '../../core/http/change-reason.ts'
import { createLogger } from '../../core/threads/logger.ts'
import { openState, type State } from '../gateway/state.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings } from '../settings/settings.ts'
import { type CommandArgs, UsageError } from './command.ts'

/** Returns the author of events of a command. Throws a `UsageError` for an invalid reason. */
export function authorOf({ options }: Pick<CommandArgs, 'options'>): Author {
  const text = options.get('reason')
  const reason = text?.trim()
  if (reason === undefined) return { actor: CLI_ACTOR }
  if (reason.length > 0 && reason.length <= MAX_REASON_LENGTH) return { actor: CLI_ACTOR, reason }
  throw new UsageError(`REASON must have 1 to ${MAX_REASON_LENGTH} characters.`)
}

/** Runs a function with the state that the settings name, and closes it. */
export async function withState(
  environment: Environment,
  run: (state: State) => Promise<void>,
): Promise<void> {
  const settings = readSettings(environment)
  const state = await openState(settings, createLogger(settings.log_level))
  try {
    await run(state)
  } finally {
    await state.close()
  }
}
