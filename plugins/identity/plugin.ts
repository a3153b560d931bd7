import { definePlugin, optional, settingsOf } from '../../core/contract/index.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { GatewayState } from '../../projections/state.ts'
import { CallerTokens } from '../auth/index.ts'
import { createIdentityEndpoints } from './endpoints.ts'
import { IDENTITY_ERROR_CODES } from './errors.ts'
import type { IdentitySettings } from './settings.ts'

/** Lets callers in with tokens of the company's identity provider (docs/guides/identity.md). */
export default definePlugin({
  name: 'identity',
  replay: { type: 'recorded' },
  uses: {
    state: GatewayState,
    process: ProcessServices,
    settings: optional(settingsOf<IdentitySettings>('identity')),
  },
  provides: [CallerTokens],
  async setup(_, { use, provide, logger }) {
    const { callers = [] } = use.settings ?? {}
    provide(CallerTokens, callers.length > 0 ? await openCallerTokens() : undefined)
    return { errorCodes: IDENTITY_ERROR_CODES, endpoints: createIdentityEndpoints(use.state) }

    async function openCallerTokens() {
      const { createCallerTokens } = await import('./caller-tokens.ts')
      return createCallerTokens(callers, { ...use.state, logger, signal: use.process.stopping })
    }
  },
})
