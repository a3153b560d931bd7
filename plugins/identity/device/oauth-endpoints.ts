import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import {
  type Endpoint,
  type EndpointCall,
  type EndpointResponse,
  endpoint,
  publicAccess,
} from '../../../core/contract/index.ts'
import { SharedStateUnavailableError } from '../../../core/contract/shared-state.ts'
import type { GrantClient } from '../../../projections/events/grants.ts'
import { type DeviceCodes, formatUserCode, POLL_SECONDS } from './device-codes.ts'
import { formBody, oauthAnswer, parseForm } from './form.ts'
import type { SignIns, TokenAnswer } from './sign-ins.ts'

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** The id of `signalbox login`. Claude Code has none. */
export const CLI_CLIENT_ID = 'signalbox-cli'

interface OAuthServices {
  readonly codes: DeviceCodes
  readonly signIns: SignIns
  readonly isClaudeCodeEnabled: boolean
  /** The group of addresses that the client belongs to. */
  addressOf(request: IncomingMessage): string
  urlOf(headers: IncomingHttpHeaders): string
}

const common = { access: publicAccess, tags: ['identity'], isUnlisted: true } as const
const responses = { 200: { description: 'The answer.', text: 'application/json' } }

/** Statuses other than 400, as clients of Claude apps gateway know them. */
const STATUSES: Readonly<Record<string, number>> = {
  slow_down: 429,
  invalid_grant: 401,
  temporarily_unavailable: 503,
}

const refuse = (error: string): EndpointResponse => oauthAnswer(STATUSES[error] ?? 400, { error })

const answerToken = (answer: TokenAnswer | { readonly error: string }): EndpointResponse =>
  'error' in answer ? refuse(answer.error) : oauthAnswer(200, answer)

/** The endpoints by which programs sign in (docs/guides/login.md): RFC 8414, 8628, 6749 and 7009. */
export function createOAuthEndpoints(services: OAuthServices): readonly Endpoint[] {
  const { codes, signIns, isClaudeCodeEnabled, addressOf, urlOf } = services

  function findClient(id: string | undefined): GrantClient | undefined {
    if (id === CLI_CLIENT_ID) return 'cli'
    return id === undefined && isClaudeCodeEnabled ? 'claude_code' : undefined
  }

  async function grantDevice(
    form: ReadonlyMap<string, string>,
    requestId: string,
  ): Promise<EndpointResponse> {
    const deviceCode = form.get('device_code')
    if (!deviceCode) return refuse('invalid_request')
    const polled = await codes.poll(deviceCode)
    if ('error' in polled) return refuse(polled.error)
    const { approved, provider } = polled
    // A code that another program started is not this one's.
    if (form.has('client_id') && findClient(form.get('client_id')) !== approved.client)
      return refuse('invalid_grant')
    const answer = await signIns.complete(approved.grantId ?? '', provider, requestId)
    const isPending = 'error' in answer && answer.error === 'authorization_pending'
    if (!isPending) await codes.remove(approved)
    return answerToken(answer)
  }

  async function grantRefresh(
    form: ReadonlyMap<string, string>,
    requestId: string,
  ): Promise<EndpointResponse> {
    const token = form.get('refresh_token')
    return token ? answerToken(await signIns.refresh(token, requestId)) : refuse('invalid_request')
  }

  return [
    endpoint({
      ...common,
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      operationId: 'readAuthorizationServer',
      summary: 'Returns where programs sign in.',
      responses,
      handle: ({ headers }) => ({ status: 200, body: describeServer(urlOf(headers)) }),
    }),
    formEndpoint(
      '/oauth/device_authorization',
      'startDevice',
      'Begins the sign-in of a program.',
      async (form, call) => {
        const client = findClient(form.get('client_id'))
        if (client === undefined) return refuse('unauthorized_client')
        const started = await codes.start(client, addressOf(call.req))
        if (started === undefined) return refuse('slow_down')
        const { deviceCode, code } = started
        const user_code = formatUserCode(code.userCode)
        const verification_uri = `${urlOf(call.headers)}/console/device`
        return oauthAnswer(200, {
          device_code: deviceCode,
          user_code,
          verification_uri,
          verification_uri_complete: `${verification_uri}?user_code=${user_code}`,
          expires_in: Math.round((code.expiresAtMs - Date.now()) / 1000),
          interval: POLL_SECONDS,
        })
      },
    ),
    formEndpoint('/oauth/token', 'issueToken', 'Gives a program its tokens.', async (form, { requestId }) => {
      const type = form.get('grant_type')
      if (type === DEVICE_GRANT) return grantDevice(form, requestId)
      if (type === 'refresh_token') return grantRefresh(form, requestId)
      return refuse('unsupported_grant_type')
    }),
    formEndpoint('/oauth/revoke', 'revokeToken', 'Signs a program out.', async (form, { requestId }) => {
      const token = form.get('token')
      if (!token) return refuse('invalid_request')
      await signIns.revoke(token, requestId)
      return oauthAnswer(200, {})
    }),
    endpoint({
      ...common,
      method: 'GET',
      path: '/oauth/userinfo',
      operationId: 'readSignIn',
      summary: 'Returns whose a token is, and how long its program is signed in.',
      responses,
      handle({ headers }) {
        const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
        const issued = token === undefined ? undefined : signIns.read(token)
        if (issued === undefined) return oauthAnswer(401, { error: 'invalid_token' })
        const { grant, subject, expiresAtMs } = issued
        const { type, id, name, issuer } = subject.actor
        return oauthAnswer(200, {
          ...{ sub: id, type, name, ...(issuer !== undefined && { issuer }) },
          ...(subject.account
            ? { user_id: subject.account.userId }
            : { role: subject.operator?.role ?? 'admin' }),
          client: grant.client,
          token_expires_at: new Date(expiresAtMs).toISOString(),
          expires_at: new Date(grant.expiresAtMs).toISOString(),
        })
      },
    }),
  ]
}

function describeServer(url: string) {
  return {
    issuer: url,
    device_authorization_endpoint: `${url}/oauth/device_authorization`,
    token_endpoint: `${url}/oauth/token`,
    revocation_endpoint: `${url}/oauth/revoke`,
    userinfo_endpoint: `${url}/oauth/userinfo`,
    grant_types_supported: [DEVICE_GRANT, 'refresh_token'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
    scopes_supported: ['openid', 'profile', 'email'],
    gateway_protocol_version: 1,
  }
}

type Form = ReadonlyMap<string, string>

/** An OAuth endpoint: a form, answered with JSON and codes of errors. */
function formEndpoint(
  path: string,
  operationId: string,
  summary: string,
  handle: (form: Form, call: EndpointCall) => Promise<EndpointResponse>,
): Endpoint {
  return endpoint({
    ...common,
    method: 'POST',
    path,
    operationId,
    summary,
    rawBody: formBody,
    responses,
    async handle(call) {
      const form = parseForm(call.body, call.headers['content-type'])
      if (form === undefined) return refuse('invalid_request')
      try {
        return await handle(form, call)
      } catch (error) {
        if (SharedStateUnavailableError.isInstance(error)) return refuse('temporarily_unavailable')
        throw error
      }
    },
  })
}
