import type { Plugin } from '../../core/contract/index.ts'
import type { Accounts } from '../../projections/accounts.ts'
import type { Groups } from '../../projections/groups.ts'
import type { Rules } from '../../projections/rules.ts'
import type { StreamHealth } from '../../projections/runtime/stream-health.ts'
import type { AccountCommands } from './account-commands.ts'
import { createAdminEndpoints } from './admin-endpoints.ts'
import type { AuthFailureLimiter } from './auth-failures.ts'
import { requireApiKey } from './authenticate.ts'
import { createKeyEndpoints, type KeyEndpointServices } from './key-endpoints.ts'
import { manageOperators, type OperatorServices } from './operators.ts'
import type { Sessions } from './sessions.ts'

interface AuthServices
  extends OperatorServices,
    Pick<KeyEndpointServices, 'resolveAllowedModel' | 'lastUse'> {
  readonly accounts: Accounts
  readonly groups: Pick<Groups, 'groupsOf'>
  readonly rules: Pick<Rules, 'of'>
  readonly streams: Pick<StreamHealth, 'damageOf'>
  readonly commands: AccountCommands
  readonly authFailures: AuthFailureLimiter
  readonly sessions: Pick<Sessions, 'authenticate'>
}

/** Authenticates requests, sets their `account` for all later plugins, and serves the `/admin` endpoints. */
export function createAuth(services: AuthServices): Plugin {
  const { accounts, groups, streams, commands, authFailures } = services
  return {
    name: 'auth',
    setup: (_, host) => ({
      admit: requireApiKey(accounts, streams, authFailures, services.sessions),
      endpoints: [
        ...createAdminEndpoints(accounts, groups, services.rules, commands),
        ...createKeyEndpoints({ ...services, endpoints: () => host.api().endpoints }),
        ...manageOperators(services).endpoints,
      ],
    }),
  }
}
