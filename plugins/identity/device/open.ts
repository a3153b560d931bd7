import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { addressGroup } from '../../../core/http/client-address.ts'
import type { SharedState } from '../../../core/shared-state/shared-state.ts'
import type { GatewayState } from '../../../projections/state.ts'
import type { Access } from '../../auth/index.ts'
import type { IdentitySettings } from '../settings.ts'
import { createApproval, type ProviderSignIn } from './approval-endpoints.ts'
import { createDeviceCodes } from './device-codes.ts'
import { createOAuthEndpoints } from './oauth-endpoints.ts'
import { ownUrl } from './own-url.ts'
import { createSignIns } from './sign-ins.ts'

interface DeviceServices {
  readonly settings: IdentitySettings
  readonly state: Pick<GatewayState, 'grants' | 'writer'>
  readonly access: Access
  readonly sharedState: SharedState
  readonly provider: ProviderSignIn | undefined
  readonly signal: AbortSignal
}

/** Creates the endpoints by which programs sign in, and people allow it. */
export function createDeviceSignIn(services: DeviceServices) {
  const { settings, state, access, sharedState, provider, signal } = services
  const { secret, tokens } = access
  const codes = createDeviceCodes(sharedState, secret)
  const askProvider = provider?.people.askProvider
  const signIns = createSignIns({ ...state, tokens, secret, sharedState, askProvider, signal })
  const common = {
    codes,
    signIns,
    addressOf: (request: IncomingMessage) => addressGroup(access.resolveAddress(request)),
    urlOf: (headers: IncomingHttpHeaders) => ownUrl(settings.console?.url, headers),
  }
  const refusesKeys = settings.console?.only === true
  const approval = createApproval({ ...common, access, secret, provider, refusesKeys })
  const isClaudeCodeEnabled = settings.claude_code?.enabled === true
  const endpoints = [...createOAuthEndpoints({ ...common, isClaudeCodeEnabled }), ...approval.endpoints]
  return { endpoints, complete: approval.complete }
}
