import type { Plugin } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { adminPaths } from '../openapi/admin.ts'
import type { AccountCommands } from './account-commands.ts'
import { addAdminRoutes } from './admin.ts'
import { authenticate } from './authenticate.ts'

export interface AuthServices {
  readonly accounts: Accounts
  readonly commands: AccountCommands
  /** Without it there are no `/admin` endpoints. */
  readonly adminKey: string | undefined
}

/** Who is calling: every later plugin can rely on `ctx.account`. */
export function createAuth({ accounts, commands, adminKey }: AuthServices): Plugin {
  return {
    name: 'auth',
    applies: 'all',
    needs: 'headers',
    setup: () => ({
      middleware: authenticate(accounts),
      ...(adminKey !== undefined && { openapi: adminPaths }),
      openRoutes(router) {
        if (adminKey !== undefined) addAdminRoutes(router, accounts, commands, adminKey)
      },
    }),
  }
}
