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
  readonly failedKeys: AuthFailureLimiter
  /** Lets administrators through. Without it there are no `/admin` endpoints. */
  readonly adminGuard: GatewayMiddleware | undefined
}

/** Who is calling: every later plugin can rely on `ctx.account`. */
export function createAuth({ accounts, commands, failedKeys, adminGuard }: AuthServices): Plugin {
  return {
    name: 'auth',
    applies: 'all',
    needs: 'headers',
    setup: () => ({
      middleware: requireApiKey(accounts, failedKeys),
      ...(adminGuard !== undefined && { openapi: adminPaths }),
      publicRoutes(router) {
        if (adminGuard !== undefined) addAdminRoutes(router, accounts, commands, adminGuard)
      },
    }),
  }
}
