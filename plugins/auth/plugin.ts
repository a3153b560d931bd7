import type { GatewayMiddleware, Plugin } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { adminPaths } from '../openapi/admin.ts'
import type { AccountCommands } from './account-commands.ts'
import { addAdminRoutes } from './admin-endpoints.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'
import { requireApiKey } from './authenticate.ts'

interface AuthServices {
  readonly accounts: Accounts
  readonly commands: AccountCommands
  readonly authFailures: AuthFailureLimiter
  /** Admits requests with the admin key. If undefined, there are no `/admin` endpoints. */
  readonly adminGuard: GatewayMiddleware | undefined
}

/** Authenticates requests, sets `ctx.account` for all later plugins, and serves the `/admin` endpoints. */
export function createAuth({ accounts, commands, authFailures, adminGuard }: AuthServices): Plugin {
  return {
    name: 'auth',
    setup: () => ({
      admit: requireApiKey(accounts, authFailures),
      ...(adminGuard !== undefined && { openapi: adminPaths }),
      publicRoutes(router) {
        if (adminGuard !== undefined) addAdminRoutes(router, accounts, commands, adminGuard)
      },
    }),
  }
}
