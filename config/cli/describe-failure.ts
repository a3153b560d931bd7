import { EventLogReplacedError, GatewayError } from '../../core/contract/index.ts'
import { exitCodeOf } from '../gateway/exit-codes.ts'
import { SettingsError } from '../settings/settings-error.ts'
import { DifferencesError, UsageError } from './command.ts'

/** The message and the exit code of a command that failed. */
export function describeFailure(error: unknown): { readonly message: string; readonly exitCode: number } {
  const isTwo = error instanceof UsageError || error instanceof DifferencesError
  return { message: formatError(error), exitCode: isTwo ? 2 : exitCodeOf(error) }
}

/** With DEBUG set, unexpected errors are shown with their stack. */
function formatError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const isExpected =
    error instanceof UsageError ||
    error instanceof DifferencesError ||
    error instanceof SettingsError ||
    GatewayError.isInstance(error) ||
    EventLogReplacedError.isInstance(error)
  return isExpected || !process.env.DEBUG ? error.message : (error.stack ?? error.message)
}
