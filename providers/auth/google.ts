import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { SignJWT } from 'jose'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { parseJson, parseJsonObject } from '../../core/util/json.ts'
import { CredentialsError } from '../shared/authorize.ts'
import type { Authorizer, CloudRow } from './authorizer.ts'
import { createShortLived, type Expiring, renewOnChange } from './short-lived.ts'

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const DEFAULT_TOKEN_URI = 'https://oauth2.googleapis.com/token'
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const ASSERTION_SECONDS = 3600
/** A clock that is further off is not trusted after a refused assertion. */
const MAX_SKEW_MS = 30_000

type Headers = Readonly<Record<string, string>>

/**
 * Authorizes by access tokens of Google: for a service account's key, for the configuration of a workload
 * identity, or else by Application Default Credentials (docs/guides/vertex.md). A changed file is read again.
 */
export function createGoogleAuthorizer({ credentials_file }: CloudRow): Authorizer {
  const file = credentials_file ?? (process.env.GOOGLE_APPLICATION_CREDENTIALS || undefined)
  const headers = createShortLived((signal) => fetchHeaders(file, signal))
  if (file !== undefined) renewOnChange(headers, file)
  return Object.assign(headers, { authorize: (_: unknown, signal: AbortSignal) => headers.get(signal) })
}

async function fetchHeaders(file: string | undefined, signal: AbortSignal): Promise<Expiring<Headers>> {
  const key = file === undefined ? undefined : await readKeyFile(file)
  if (key?.type === 'service_account') return fetchServiceAccountToken(key, signal)
  return fetchByLibrary(key)
}

async function readKeyFile(file: string): Promise<JsonObject> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CredentialsError('reading the key file', codeOf(error))
  })
  const key = parseJsonObject(text)
  if (typeof key?.type !== 'string') throw new CredentialsError('reading the key file', 'INVALID_JSON')
  return key
}

/**
 * Exchanges an assertion that the key signs for a token. Google's library does not send it to the
 * `token_uri` of the key, which private clouds have.
 */
async function fetchServiceAccountToken(key: JsonObject, signal: AbortSignal): Promise<Expiring<Headers>> {
  let answer = await postAssertion(key, Date.now(), signal)
  // A refused assertion may be that of a clock that is wrong.
  const isSkewed = Math.abs(answer.serverTime - Date.now()) > MAX_SKEW_MS
  if (answer.body.error === 'invalid_grant' && isSkewed)
    answer = await postAssertion(key, answer.serverTime, signal)
  const { access_token, expires_in, error } = answer.body
  if (typeof access_token !== 'string' || access_token === '')
    throw new CredentialsError('the token request to Google', error ?? `HTTP_${answer.status}`)
  return {
    value: toHeaders(access_token, key),
    expiresAt: Date.now() + (typeof expires_in === 'number' ? expires_in : ASSERTION_SECONDS) * 1000,
  }
}

interface TokenAnswer {
  readonly status: number
  readonly body: JsonObject
  /** Of the header `date`; NaN without it. */
  readonly serverTime: number
}

async function postAssertion(key: JsonObject, now: number, signal: AbortSignal): Promise<TokenAnswer> {
  const uri = typeof key.token_uri === 'string' ? key.token_uri : DEFAULT_TOKEN_URI
  const assertion = await signAssertion(key, uri, Math.floor(now / 1000))
  try {
    const response = await fetch(uri, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: GRANT_TYPE, assertion }),
      redirect: 'error',
      signal,
    })
    const parsed = parseJson(await response.text())
    return {
      status: response.status,
      body: isJsonObject(parsed) ? parsed : {},
      serverTime: Date.parse(response.headers.get('date') ?? ''),
    }
  } catch (error) {
    throw new CredentialsError('the token request to Google', codeOf(error))
  }
}

/** https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests */
async function signAssertion(key: JsonObject, audience: string, issuedAt: number): Promise<string> {
  const { client_email, private_key, private_key_id } = key
  if (typeof client_email !== 'string' || typeof private_key !== 'string')
    throw new CredentialsError('reading the key file', 'INCOMPLETE')
  const kid = typeof private_key_id === 'string' ? { kid: private_key_id } : {}
  try {
    return await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...kid })
      .setIssuer(client_email)
      .setAudience(audience)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + ASSERTION_SECONDS)
      .sign(createPrivateKey(private_key))
  } catch (error) {
    throw new CredentialsError('signing with the private key', codeOf(error))
  }
}

/** Workload identity, impersonation, the user's own login and the metadata server. */
async function fetchByLibrary(key: JsonObject | undefined): Promise<Expiring<Headers>> {
  const { GoogleAuth } = await import('google-auth-library')
  // A new one each time: each keeps its token and the file that it has read.
  const auth = new GoogleAuth({ scopes: SCOPE, ...(key && { credentials: key }) })
  const client = await auth.getClient().catch((error: unknown) => {
    throw new CredentialsError('finding the default credentials', codeOf(error))
  })
  const { token } = await client.getAccessToken().catch((error: unknown) => {
    throw new CredentialsError('the token request to Google', codeOf(error))
  })
  if (!token) throw new CredentialsError('the token request to Google', 'NO_TOKEN')
  return {
    value: toHeaders(token, { quota_project_id: client.quotaProjectId }),
    expiresAt: client.credentials.expiry_date ?? Date.now() + ASSERTION_SECONDS * 1000,
  }
}

function toHeaders(token: string, { quota_project_id }: JsonObject): Headers {
  return {
    authorization: `Bearer ${token}`,
    ...(typeof quota_project_id === 'string' && { 'x-goog-user-project': quota_project_id }),
  }
}

/** Of the network or the file system, or the word with which the service refused. */
function codeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined
  const { code, cause, response } = error as {
    code?: unknown
    cause?: unknown
    response?: { data?: unknown }
  }
  const data = response?.data
  if (isJsonObject(data) && typeof data.error === 'string') return data.error
  return code ?? (cause === undefined ? error.name : codeOf(cause))
}
