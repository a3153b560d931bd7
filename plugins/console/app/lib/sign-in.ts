import { GATEWAY, send } from './api.ts'
import { forgetDrafts } from './pending-drafts.ts'
import { session } from './session.ts'
import type { CurrentSession } from './types.ts'

type SessionAnswer = { readonly data: CurrentSession | null }

export async function loadSession(): Promise<void> {
  session.value = (await send<SessionAnswer>('GET', '/console/session')).data
}

/** API keys of users begin so. An ADMIN_KEY is free text. */
const USER_KEY = /^tr_/

export async function signIn(key: string): Promise<void> {
  const path = USER_KEY.test(key) ? '/console/user-session' : '/console/session'
  const headers = { authorization: `Bearer ${key}` }
  const body = { path: GATEWAY.pathname }
  const answer = await send<SessionAnswer>('POST', path, body, { headers })
  session.value = answer.data
}

export async function signOut(): Promise<void> {
  await send('DELETE', `/console/session?path=${encodeURIComponent(GATEWAY.pathname)}`)
  forgetDrafts()
  session.value = null
}
