import type { Plugin } from '../../core/contract/index.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { Sessions } from '../auth/sessions.ts'
import { createSessionEndpoints } from './session-endpoints.ts'
import { createStaticEndpoints, STATIC_ERROR_CODES } from './static-endpoints.ts'

/**
 * Serves the console at `/console/`, and its sessions. `folder` has the files that the build made. See
 * docs/decisions/console.md, "The console has only what everybody has".
 */
export function createConsole(
  sessions: Sessions,
  operators: Pick<OperatorAccounts, 'find'>,
  folder: string,
): Plugin {
  return {
    name: 'console',
    after: ['auth'],
    setup: () => ({
      errorCodes: STATIC_ERROR_CODES,
      endpoints: [...createSessionEndpoints(sessions, operators), ...createStaticEndpoints(folder)],
    }),
  }
}
