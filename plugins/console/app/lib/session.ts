import { signal } from '@preact/signals'
import type { ConsoleSession, ConsoleSignInOptions } from './schemas.ts'

/** Undefined until it is known; null if nobody is signed in. */
export const session = signal<ConsoleSession | null | undefined>(undefined)

/** Undefined until it is known. */
export const signInOptions = signal<ConsoleSignInOptions | undefined>(undefined)

export type Role = NonNullable<ConsoleSession['role']>

const ROLES: readonly Role[] = ['auditor', 'editor', 'admin']

/** True if the role of the operator includes this one. The gateway refuses what the console does not hide. */
export function hasRole(role: Role): boolean {
  const own = session.value?.role
  return own != null && ROLES.indexOf(own) >= ROLES.indexOf(role)
}

export function isOperator(): boolean {
  return session.value?.role != null
}

/** True for operators without a scope: with one, some pages are not for them. */
export function seesEverything(): boolean {
  return isOperator() && session.value?.scope == null
}

/** Where the endpoints are that operators and users have both. */
export function root(): string {
  return isOperator() ? '/admin' : '/v1'
}

/** Whether the rules of the past may be read: users need a paid plan for rules. */
export function canReadPastRules(): boolean {
  return isOperator() || session.value?.plan === 'paid'
}
