import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { errorMessage } from '../../core/util/error-message.ts'
import { normalizeUrl, type StoredSignIn, type StoredSignIns } from './stored-sign-ins.ts'

/** How long before its end a token is replaced. */
const REFRESH_BEFORE_MS = 300_000

const TIMEOUT_MS = 30_000

/** Calls an OAuth endpoint of a gateway. Rejects if it cannot be reached or answers with no JSON. */
async function call(url: string, path: string, request: RequestInit): Promise<JsonObject> {
  const base = normalizeUrl(url)
  const response = await fetch(base + path, {
    ...request,
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => rejectUnreachable(base, error))
  const body: unknown = await response.json().catch(() => undefined)
  if (!isJsonObject(body)) throw new Error(`${base}${path} answered with ${response.status} and no JSON.`)
  return response.ok || typeof body.error === 'string' ? body : { error: `status ${response.status}` }
}

/** For calls with `fetch`, whose error has a cause that says more. */
export function rejectUnreachable(address: string, error: unknown): never {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  throw new Error(`${address} cannot be reached: ${errorMessage(cause)}`)
}

/** Posts a form. The answer has an `error` if it is refused. */
export function postForm(url: string, path: string, fields: Readonly<Record<string, string>>) {
  return call(url, path, { method: 'POST', body: new URLSearchParams(fields) })
}

/** Whose a token is. The answer has an `error` if it is not valid. */
export function readUserInfo(url: string, token: string) {
  return call(url, '/oauth/userinfo', { headers: { authorization: `Bearer ${token}` } })
}

/** What is kept of a token answer; `before`: the refresh token that serves if there is no new one. */
export function toStoredSignIn(answer: JsonObject, before?: string): StoredSignIn {
  const { access_token, refresh_token = before, expires_in } = answer
  if (typeof access_token !== 'string' || typeof expires_in !== 'number')
    throw new Error('The gateway answered without a token.')
  return {
    access_token,
    ...(typeof refresh_token === 'string' && { refresh_token }),
    expires_at: Date.now() + expires_in * 1000,
  }
}

/**
 * Returns the token of a gateway, a new one if it ends soon. Resolves with undefined if nobody has signed in,
 * or the sign-in has ended.
 */
export async function readToken(stored: StoredSignIns, url: string): Promise<string | undefined> {
  const signIn = stored.find(url)
  if (signIn === undefined) return undefined
  const { access_token, refresh_token, expires_at } = signIn
  if (Date.now() < expires_at - REFRESH_BEFORE_MS) return access_token
  const isValid = Date.now() < expires_at
  if (refresh_token === undefined) return isValid ? access_token : undefined
  const answer = await postForm(url, '/oauth/token', { grant_type: 'refresh_token', refresh_token })
  if (typeof answer.error === 'string') {
    // Another process may have refreshed it meanwhile.
    const other = stored.find(url)
    if (other !== undefined && other.access_token !== access_token) return other.access_token
    if (answer.error === 'invalid_grant') stored.put(url, undefined)
    return isValid && answer.error !== 'invalid_grant' ? access_token : undefined
  }
  const refreshed = toStoredSignIn(answer, refresh_token)
  stored.put(url, refreshed)
  return refreshed.access_token
}
