import { definePlugin, optional, settingsOf } from '../../core/contract/index.ts'
import { GatewayState } from '../../projections/state.ts'
import { resolveAllowedModel } from '../../providers/shared/allowed-models.ts'
import { Providers } from '../../providers/shared/providers.ts'
import { createAccessReviewEndpoint } from './access-review.ts'
import { AUTH_ERROR_CODES, requireApiKey } from './authenticate.ts'
import { CallerTokens } from './caller-tokens.ts'
import { Access, LastUse } from './index.ts'
import { createKeyListEndpoints } from './key-list.ts'
import { manageKeys } from './manage-keys.ts'
import { manageOperators } from './operators.ts'
import { manageUsers, type PlanLimits } from './users.ts'

/** Authenticates requests, sets their `account` for all later plugins, and serves the `/admin` endpoints. */
export default definePlugin({
  name: 'auth',
  replay: { type: 'recorded' },
  uses: {
    state: GatewayState,
    access: Access,
    providers: Providers,
    lastUse: optional(LastUse),
    tokens: optional(CallerTokens),
    limits: settingsOf<PlanLimits>('rate_limits'),
    adminKey: optional(settingsOf<string | null>('admin_key')),
  },
  setup(_, { use, api }) {
    const { accounts, streams } = use.state
    const { authFailures, sessions, tokens } = use.access
    const { known, catalog } = use.providers
    return {
      errorCodes: AUTH_ERROR_CODES,
      admit: requireApiKey(accounts, streams, authFailures, sessions, tokens, use.tokens),
      endpoints: [
        ...Object.values(manageUsers({ ...use.state, planLimits: use.limits }).endpoints),
        ...manageKeys({
          ...use.state,
          resolveAllowedModel: (name) => resolveAllowedModel(name, known, catalog.match),
          lastUse: use.lastUse,
          userPaths: () =>
            api().endpoints.flatMap(({ access, path }) => (access.type === 'user' ? [path] : [])),
        }).endpoints,
        ...createKeyListEndpoints({ accounts, lastUse: use.lastUse }),
        ...manageOperators(use.state).endpoints,
        createAccessReviewEndpoint({ ...use.state, hasRoot: Boolean(use.adminKey), lastUse: use.lastUse }),
      ],
    }
  },
})
