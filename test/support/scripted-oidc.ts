import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { JWTPayload } from 'jose'
import { type IdentityProvider, type SigningKey, startIdentityProvider } from './identity-provider.ts'

/** An identity provider whose answers a test changes at will. */
export interface ScriptedOidc extends IdentityProvider {
  /** Who signs in next, without being asked. The parameter `login_hint` names another subject. */
  person: JWTPayload
  /** Whether tokens can be refreshed. */
  issuesRefreshTokens: boolean
  /** Whether it accepts a code again. */
  acceptsCodesAgain: boolean
  /** Claims that differ in ID tokens, and the key that signs them. */
  idToken: { claims?: JWTPayload; key?: SigningKey }
  /** Claims of `/userinfo`; undefined: there are none besides the subject. */
  userInfo: JWTPayload | undefined
  /** Answers requests to `/token` in another way, until it is undefined again. */
  answerToken: ((res: ServerResponse) => void) | undefined
  /** Every token, code and refresh token that was issued. */
  readonly issued: string[]
  /** The `grant_type` of each request to `/token`. */
  readonly grants: string[]
  /** The requests to `/end`. */
  readonly ended: URL[]
}

interface Begun {
  readonly person: JWTPayload
  readonly nonce: string
  readonly challenge: string
}

/** Refresh tokens are rotated: a former one is refused, and ends the newer one. */
export async function startScriptedOidc(): Promise<ScriptedOidc> {
  const codes = new Map<string, Begun>()
  const refreshTokens = new Map<string, JWTPayload>()
  const provider = await startIdentityProvider({ handle, metadata: describe })
  const state: Omit<ScriptedOidc, keyof IdentityProvider> = {
    person: { sub: 'ada', email: 'ada@example.com', groups: ['gateway-admins'] },
    issuesRefreshTokens: true,
    acceptsCodesAgain: false,
    idToken: {},
    userInfo: undefined,
    answerToken: undefined,
    issued: [],
    grants: [],
    ended: [],
  }
  const oidc: ScriptedOidc = Object.assign(state, provider)

  function describe(issuer: string) {
    return {
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      end_session_endpoint: `${issuer}/end`,
      id_token_signing_alg_values_supported: ['ES256', 'RS256', 'HS256'],
    }
  }

  function issue(kind: string): string {
    const value = `${kind}-${randomUUID()}`
    oidc.issued.push(value)
    return value
  }

  async function issueTokens(person: JWTPayload, nonce?: string) {
    const { claims, key } = oidc.idToken
    const payload = { ...person, aud: 'signalbox', ...(nonce && { nonce }), ...claims }
    const idToken = await provider.sign(payload, key)
    oidc.issued.push(idToken)
    const refreshToken = oidc.issuesRefreshTokens ? issue('refresh') : undefined
    if (refreshToken) refreshTokens.set(refreshToken, person)
    return {
      access_token: issue('access'),
      token_type: 'Bearer',
      expires_in: 300,
      id_token: idToken,
      ...(refreshToken && { refresh_token: refreshToken }),
    }
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '', provider.issuer)
    if (url.pathname === '/authorize') {
      const code = issue('code')
      const {
        nonce = '',
        code_challenge: challenge = '',
        state,
        redirect_uri,
      } = Object.fromEntries(url.searchParams)
      const { login_hint: sub } = Object.fromEntries(url.searchParams)
      codes.set(code, { person: { ...oidc.person, ...(sub && { sub }) }, nonce, challenge })
      const location = new URL(redirect_uri ?? '')
      location.search = new URLSearchParams({
        code,
        state: state ?? '',
        session_state: 'of no interest',
      }).toString()
      res.writeHead(302, { location: location.href }).end()
      return
    }
    if (url.pathname === '/end') oidc.ended.push(url)
    if (url.pathname === '/userinfo') {
      res.end(JSON.stringify({ sub: oidc.person.sub, ...oidc.userInfo }))
      return
    }
    if (url.pathname !== '/token') {
      res.writeHead(url.pathname === '/end' ? 200 : 404).end()
      return
    }
    const form = Object.fromEntries(new URLSearchParams(await text(req)))
    oidc.grants.push(form.grant_type ?? '')
    if (oidc.answerToken) return oidc.answerToken(res)
    const tokens = await exchange(form)
    if (tokens === undefined) res.writeHead(400).end(JSON.stringify({ error: 'invalid_grant' }))
    else res.end(JSON.stringify(tokens))
  }

  async function exchange({
    grant_type,
    code = '',
    code_verifier = '',
    refresh_token = '',
  }: Record<string, string>) {
    if (grant_type === 'refresh_token') {
      const person = refreshTokens.get(refresh_token)
      refreshTokens.delete(refresh_token)
      return person && issueTokens(oidc.person.sub === person.sub ? oidc.person : person)
    }
    const begun = codes.get(code)
    const challenge = createHash('sha256').update(code_verifier).digest('base64url')
    if (begun === undefined || begun.challenge !== challenge) return undefined
    if (!oidc.acceptsCodesAgain) codes.delete(code)
    return issueTokens(begun.person, begun.nonce)
  }

  return oidc
}
