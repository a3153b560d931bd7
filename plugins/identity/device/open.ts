import type { IncomingMessage } from 'node:http'
import type { Endpoint } from '../../../core/contract/index.ts'
import { addressGroup } from '../../../core/http/client-address.ts'
import type { SharedState } from '../../../core/shared-state/shared-state.ts'
import type { GatewayState } from '../../../projections/state.ts'
import type { Access } from '../../auth/index.ts'
import type { IdentitySettings } from '../settings.ts'
import { createApprovalEndpoints } from './approval-endpoints.ts'
import { createDeviceCodes } from './device-codes.ts'
import { createOAuthEndpoints } from './oauth-endpoints.ts'
import { ownUrl } from './own-url.ts'
import { createSignIns } from './sign-ins.ts'

interface DeviceServices {
  readonly settings: IdentitySettings
  readonly state: Pick<GatewayState, 'grants' | 'writer'>
  readonly access: Access
  readonly sharedState: SharedState
}

/** Creates the endpoints by which programs sign in, and people allow it. */
export function createDeviceEndpoints(services: DeviceServices): readonly Endpoint[] {
  const { settings, state, access, sharedState } = services
  const { secret, tokens } = access
  const codes = createDeviceCodes(sharedState, secret)
  const signIns = createSignIns({ ...state, tokens, secret, sharedState, askProvider: undefined })
  const common = {
    codes,
    signIns,
    addressOf: (request: IncomingMessage) => addressGroup(access.resolveAddress(request)),
    urlOf: ownUrl,
  }
  return [
    ...createOAuthEndpoints({ ...common, isClaudeCodeEnabled: settings.claude_code?.enabled === true }),
    ...createApprovalEndpoints({ ...common, access, secret, personSignIn: undefined, refusesKeys: false }),
  ]
}
