import { createHash } from 'node:crypto'
import { createBoundedCache } from '../../../core/util/bounded-cache.ts'
import { parseJson } from '../../../core/util/json.ts'
import type { ToolServerAuth } from '../../../projections/events/tool-servers.ts'
import { mcpError } from '../errors.ts'
import { objectOf } from '../protocol.ts'
import type { Headers } from './http-request.ts'
import type { CallerCredentials } from './upstream.ts'

/** Reads a secret by its reference, such as `env:NAME`. Undefined if there is none. */
export type ReadSecret = (reference: string) => Promise<string | undefined>

/** Sends a form to the token endpoint of an authorization server. */
export type PostForm = (
  url: string,
  form: URLSearchParams,
  signal: AbortSignal,
) => Promise<{ status: number; text: string }>

/** Returns the headers with the credentials of a server. `isRenewed`: the former ones were refused. */
export type Authorize = (
  caller: CallerCredentials,
  isRenewed: boolean,
  signal: AbortSignal,
) => Promise<Headers>

const NONE: Headers = {}

export function createAuthorize(
  name: string,
  auth: ToolServerAuth,
  readSecret: ReadSecret,
  postForm: PostForm,
): Authorize {
  const secret = async () => {
    const value = auth.secretRef === undefined ? undefined : await readSecret(auth.secretRef)
    if (value !== undefined && value !== '') return value
    throw mcpError('tool_server_refused', `The secret of the tool server ${name} is missing. Set it.`)
  }
  if (auth.type === 'bearer') return async () => ({ authorization: `Bearer ${await secret()}` })
  if (auth.type === 'header')
    return async () => ({ [(auth.header ?? 'x-api-key').toLowerCase()]: await secret() })
  if (auth.type === 'passthrough')
    return async ({ authorization }) => (authorization === undefined ? NONE : { authorization })
  if (auth.type === 'oauth') return createOAuth(name, auth, secret, postForm)
  return async () => NONE
}

interface AccessToken {
  readonly value: string
  readonly until: number
}

/** Tokens are not used in their last seconds. */
const SPARE_MS = 30_000
const DEFAULT_LIFE_S = 300
const MAX_TOKENS = 10_000

/** The codes of RFC 6749 and RFC 8693. Any other text of the endpoint could repeat the secret. */
const OAUTH_ERRORS = new Set<unknown>([
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client'],
  ...['unsupported_grant_type', 'invalid_scope', 'invalid_target'],
])

/** Gets tokens for the gateway itself, or, if the settings say so, in exchange for those of callers. */
function createOAuth(
  name: string,
  auth: ToolServerAuth,
  secret: () => Promise<string>,
  postForm: PostForm,
): Authorize {
  const tokens = createBoundedCache<string, Promise<AccessToken>>(MAX_TOKENS)

  async function fetchToken(subject: string | undefined, signal: AbortSignal): Promise<AccessToken> {
    const form = new URLSearchParams({
      client_id: auth.clientId ?? '',
      client_secret: await secret(),
      ...(auth.scope !== undefined && { scope: auth.scope }),
      ...(auth.resource !== undefined && { resource: auth.resource }),
      ...(subject === undefined
        ? { grant_type: 'client_credentials' }
        : {
            grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
            subject_token: subject,
            subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
          }),
    })
    const { status, text } = await postForm(auth.tokenUrl ?? '', form, signal)
    const body = objectOf(parseJson(text))
    if (status !== 200 || typeof body.access_token !== 'string') {
      const reason = OAUTH_ERRORS.has(body.error) ? `: ${body.error}` : ''
      const message = `The authorization server of ${name} gave no token (status ${status}${reason}).`
      throw mcpError('tool_server_refused', message)
    }
    const seconds = typeof body.expires_in === 'number' ? body.expires_in : DEFAULT_LIFE_S
    return { value: body.access_token, until: Date.now() + seconds * 1000 - SPARE_MS }
  }

  return async ({ token }, isRenewed, signal) => {
    const subject = auth.onBehalfOf === 'user' ? token : undefined
    if (auth.onBehalfOf === 'user' && subject === undefined) {
      const message = `${name} acts on behalf of users. Call it with a token of the identity provider.`
      throw mcpError('tool_server_refused', message)
    }
    const key = subject === undefined ? '' : createHash('sha256').update(subject).digest('base64')
    const known = isRenewed ? undefined : await tokens.get(key)?.catch(() => undefined)
    if (known !== undefined && Date.now() < known.until) return { authorization: `Bearer ${known.value}` }
    const fetched = fetchToken(subject, signal)
    tokens.set(key, fetched)
    fetched.catch(() => tokens.delete(key))
    return { authorization: `Bearer ${(await fetched).value}` }
  }
}
