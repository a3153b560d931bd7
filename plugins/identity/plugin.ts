import { definePlugin, optional, settingsOf } from '../../core/contract/index.ts'
import { ProcessServices } from '../../core/pipeline/process-services.ts'
import { SharedState } from '../../core/shared-state/shared-state.ts'
import { GatewayState } from '../../projections/state.ts'
import { Access, CallerTokens } from '../auth/index.ts'
import { Collector } from '../tracing/index.ts'
import { createDeviceSignIn } from './device/open.ts'
import { createIdentityEndpoints } from './endpoints.ts'
import { IDENTITY_ERROR_CODES } from './errors.ts'
import { createKnownUsers } from './known-users.ts'
import { createChallenge, createResourceEndpoints } from './protected-resource.ts'
import type { ClaudeCodeSettings, ConsoleSettings, IdentitySettings } from './settings.ts'

/** Lets callers in with tokens of the company's identity provider (docs/guides/identity.md). */
export default definePlugin({
  name: 'identity',
  replay: { type: 'recorded' },
  uses: {
    state: GatewayState,
    process: ProcessServices,
    access: Access,
    sharedState: SharedState,
    settings: optional(settingsOf<IdentitySettings>('identity')),
    collector: optional(Collector),
    clientSecret: optional(settingsOf<string | null>('oidc_client_secret')),
  },
  provides: [CallerTokens],
  async setup(_, { use, provide, logger, metrics }) {
    const { settings = {}, access, sharedState, state } = use
    const { callers = [], claude_code: claudeCode, console } = settings
    provide(CallerTokens, callers.length > 0 ? await openCallerTokens() : undefined)
    const signIn = console && (await openConsoleSignIn(console))
    const signal = use.process.stopping
    const device = createDeviceSignIn({ settings, state, access, sharedState, provider: signIn, signal })
    return {
      errorCodes: IDENTITY_ERROR_CODES,
      endpoints: [
        ...createIdentityEndpoints(state),
        ...(callers.length > 0 ? createResourceEndpoints(callers, console ?? {}) : []),
        ...device.endpoints,
        ...(claudeCode?.enabled ? await openClaudeCode(claudeCode) : []),
        ...(signIn?.createEndpoints(device.complete) ?? []),
      ],
    }

    async function openCallerTokens() {
      const { createCallerTokens } = await import('./caller-tokens.ts')
      const tokens = createCallerTokens(callers, { ...state, logger, signal: use.process.stopping })
      return { ...tokens, challengeOf: createChallenge(console ?? {}) }
    }

    async function openClaudeCode({ settings: file }: ClaudeCodeSettings) {
      const { createClaudeCodeEndpoints } = await import('./claude-code/endpoints.ts')
      const { openSettingsSource } = await import('./claude-code/managed-settings.ts')
      const { createTelemetryForwarder, parseOtlpHeaders } = await import('./claude-code/telemetry.ts')
      const telemetry = createTelemetryForwarder({
        endpoint: use.collector?.endpoint,
        headers: parseOtlpHeaders(process.env.OTEL_EXPORTER_OTLP_HEADERS),
        metrics,
        logger,
        signal: use.process.stopping,
      })
      const source = file === undefined ? undefined : openSettingsSource(file, logger)
      return createClaudeCodeEndpoints({ groups: state.groups, settings: source, telemetry })
    }

    async function openConsoleSignIn(settings: ConsoleSettings) {
      const { createConsoleSignIn } = await import('./console-sign-in.ts')
      const { createPeople, listClaims } = await import('./device/people.ts')
      const { clientSecret, process } = use
      const own = callers.filter(({ issuer }) => issuer === settings.issuer)
      const common = { access, sharedState, state, clientSecret, logger, signal: process.stopping }
      const signIn = createConsoleSignIn(settings, { ...common, neededClaims: listClaims(own) })
      const people = createPeople({ ...signIn, syncUser: createKnownUsers(state), callers: own })
      return { ...signIn, people }
    }
  },
})
