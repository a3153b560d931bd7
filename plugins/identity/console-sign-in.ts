import type { Logger } from 'pino'
import type { Endpoint } from '../../core/contract/index.ts'
import { createSealer } from '../../core/secrets/sealer.ts'
import type { SharedState } from '../../core/shared-state/shared-state.ts'
import type { Groups } from '../../projections/groups.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import type { Access } from '../auth/index.ts'
import { createExternalSessions } from './external-sessions.ts'
import { createKnownOperators } from './known-operators.ts'
import type { ConsoleSettings } from './settings.ts'
import { createSignIn, type SignIn } from './sign-in.ts'
import { type Complete, createSignInEndpoints } from './sign-in-endpoints.ts'

interface ConsoleSignInServices {
  readonly access: Access
  readonly sharedState: SharedState
  readonly state: {
    readonly operators: OperatorAccounts
    readonly groups: Groups
    readonly writer: EventWriter
  }
  readonly clientSecret: string | null | undefined
  readonly logger: Logger
  readonly signal: AbortSignal
  /** Claims that others than the console need. */
  readonly neededClaims: readonly string[]
}

export interface ConsoleSignIn {
  readonly signIn: SignIn
  readonly syncOperator: ReturnType<typeof createKnownOperators>
  /** `completeDevice`: what follows when a person who approves a device has signed in. */
  createEndpoints(completeDevice: Complete): readonly Endpoint[]
}

/** Lets operators sign in to the console at an identity provider. */
export function createConsoleSignIn(
  settings: ConsoleSettings,
  services: ConsoleSignInServices,
): ConsoleSignIn {
  const { access, sharedState, state, clientSecret, logger, signal, neededClaims } = services
  const { sessions, secret, authFailures } = access
  const { roles, scope } = settings
  const signIn = createSignIn(settings, {
    clientSecret: clientSecret ?? undefined,
    sealer: createSealer(secret, 'sign-in'),
    counters: sharedState.counters('sign-in'),
    logger,
    signal,
    neededClaims: [...new Set([roles.claim, ...(scope ? [scope.claim] : []), ...neededClaims])],
  })
  const syncOperator = createKnownOperators(settings, state)
  const externalSessions = createExternalSessions({
    signIn,
    syncOperator,
    sealer: createSealer(secret, 'external sessions'),
    store: sharedState.store('external-sessions'),
    counters: sharedState.counters('external-sessions'),
    logger,
    signal,
  })
  sessions.renewBy(externalSessions)
  const pages = { signIn, roles, syncOperator, sessions, externalSessions, authFailures }
  return {
    signIn,
    syncOperator,
    createEndpoints: (completeDevice) => createSignInEndpoints({ ...pages, completeDevice }),
  }
}
