import type { Plugin } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Groups } from '../../projections/groups.ts'
import type { StreamHealth } from '../../projections/runtime/stream-health.ts'
import type { AccountCommands } from './account-commands.ts'
import { createAdminEndpoints } from './admin-endpoints.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'
import { requireApiKey } from './authenticate.ts'

interface AuthServices {
  readonly accounts: Accounts
  readonly groups: Pick<Groups, 'groupsOf'>
  readonly streams: Pick<StreamHealth, 'damageOf'>
  readonly commands: AccountCommands
  readonly authFailures: AuthFailureLimiter
}

/** Authenticates requests, sets their `account` for all later plugins, and serves the `/admin` endpoints. */
export function createAuth({ accounts, groups, streams, commands, authFailures }: AuthServices): Plugin {
  return {
    name: 'auth',
    setup: () => ({
      admit: requireApiKey(accounts, streams, authFailures),
      endpoints: createAdminEndpoints(accounts, groups, commands),
    }),
  }
}
