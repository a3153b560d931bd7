import { signal } from '@preact/signals'
import type { CurrentSession, Role } from './types.ts'

/** Undefined until it is known; null if nobody is signed in. */
export const session = signal<CurrentSession | null | undefined>(undefined)

const INCLUDED: Readonly<Record<Role, readonly Role[]>> = {
  admin: ['admin', 'editor', 'auditor'],
  editor: ['editor', 'auditor'],
  auditor: ['auditor'],
}

/** True if the role of the operator includes this one. The gateway refuses what the console does not hide. */
export function hasRole(role: Role): boolean {
  const own = session.value?.role
  return own ? INCLUDED[own].includes(role) : false
}

export function isOperator(): boolean {
  return session.value?.role != null
}

/** Whether the rules of the past may be read: users need a paid plan for rules. */
export function canReadPastRules(): boolean {
  return isOperator() || session.value?.plan === 'paid'
}
