import { batch, signal } from '@preact/signals'
import type { ConsoleSession, ConsoleSignInOptions } from './schemas.ts'

/** Undefined until it is known; null if nobody is signed in. */
export const session = signal<ConsoleSession | null | undefined>(undefined)

/** True if the session of the page has ended. The page stays until somebody signs in over it, or leaves. */
export const hasSessionEnded = signal(false)

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

/** Identifies who is signed in, with whichever key; empty if nobody is. */
export function signedInPerson(): string {
  if (!session.value) return ''
  const { type, id, user_id } = session.value
  return `${type} ${user_id ?? id}`
}

/** Requests of an ended session. They are told whether the same person has signed in again. */
let waiting = new Set<(isSame: boolean) => void>()

function finishWaiting(isSame: boolean): void {
  const told = waiting
  waiting = new Set()
  for (const tell of told) tell(isSame)
}

/**
 * Asks for a sign-in over the page. Resolves with true once the same person has signed in again; with false
 * if somebody else has, or nobody, or if the signal aborts.
 */
export function waitForSignIn(signal?: AbortSignal): Promise<boolean> {
  hasSessionEnded.value = true
  return new Promise((resolve) => {
    waiting.add(resolve)
    signal?.addEventListener('abort', () => {
      waiting.delete(resolve)
      resolve(false)
    })
  })
}

/** Begins a session, or goes on with the one that has ended. */
export function startSession(next: ConsoleSession): void {
  const before = signedInPerson()
  batch(() => {
    session.value = next
    hasSessionEnded.value = false
  })
  finishWaiting(before === signedInPerson())
}

/** Leaves the console; requests that wait for a sign-in fail. */
export function endSession(): void {
  batch(() => {
    session.value = null
    hasSessionEnded.value = false
  })
  finishWaiting(false)
}

/** Other windows of the browser have the same cookie, and go on with it. */
const windows = new BroadcastChannel('signalbox sign-ins')

/** Tells other windows that somebody has signed in. */
export function announceSignIn(): void {
  windows.postMessage('signed in')
}

/** Calls `run` when somebody has signed in in another window. Returns an unsubscribe function. */
export function onSignInElsewhere(run: () => void): () => void {
  windows.addEventListener('message', run)
  return () => windows.removeEventListener('message', run)
}
