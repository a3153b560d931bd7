import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { Agent, createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { readTestTls } from './tls.ts'

/** A request for a token, as an authority or a managed identity endpoint received it. */
export interface TokenRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The fields of the form, or the query. */
  readonly fields: Readonly<Record<string, string>>
}

/** Answers a request for a token in place of a token. */
export interface TokenRefusal {
  readonly status: number
  readonly body: object
}

/** An authority of Entra, and the endpoint of a managed identity, on loopback. */
export interface ScriptedEntra {
  /** For `AZURE_AUTHORITY_HOST`. Its certificate is that of the tests. */
  readonly authority: string
  /** For `IDENTITY_ENDPOINT`, or as the host of `AZURE_POD_IDENTITY_AUTHORITY_HOST`. */
  readonly identityEndpoint: string
  readonly requests: TokenRequest[]
  /** The tokens so far. */
  readonly issued: string[]
  /** Seconds for which the next tokens are valid. */
  lifetimeSeconds: number
  /** Undefined: tokens are issued. */
  refusal: TokenRefusal | undefined
  /** Tokens are issued once it resolves. */
  until: Promise<unknown> | undefined
  close(): void
}

/** Agents of Node trust its certificate until it is closed. */
export async function startScriptedEntra(): Promise<ScriptedEntra> {
  const { tls, caFile } = await readTestTls()
  const ca = await readFile(caFile)
  const connect = Agent.prototype.createConnection
  Agent.prototype.createConnection = function (options, callback) {
    const isOurs = String(options.port) === new URL(entraUrl(authority, 'https')).port
    return connect.call(this, isOurs ? { ...options, ca } : options, callback)
  }

  const entra: Omit<ScriptedEntra, 'authority' | 'identityEndpoint'> = {
    requests: [],
    issued: [],
    lifetimeSeconds: 3600,
    refusal: undefined,
    until: undefined,
    close() {
      Agent.prototype.createConnection = connect
      for (const server of [authority, identity]) {
        server.close()
        server.closeAllConnections()
      }
    },
  }

  function issueToken(): string {
    const payload = Buffer.from(JSON.stringify({ number: entra.issued.length + 1 })).toString('base64url')
    const token = `eyJhbGciOiJub25lIn0.${payload}.canary-of-a-token`
    entra.issued.push(token)
    return token
  }

  const handle: RequestListener = async (request, response) => {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    const url = new URL(request.url ?? '', 'http://any.test')
    const [, tenant = ''] = url.pathname.split('/')
    if (url.pathname.endsWith('/.well-known/openid-configuration')) {
      const issuer = `${entraUrl(authority, 'https')}/${tenant}`
      answer(200, {
        issuer: `${issuer}/v2.0`,
        authorization_endpoint: `${issuer}/oauth2/v2.0/authorize`,
        token_endpoint: `${issuer}/oauth2/v2.0/token`,
        jwks_uri: `${issuer}/keys`,
      })
      return
    }
    const isForm = request.method === 'POST'
    const form = isForm ? new URLSearchParams(await text(request)) : url.searchParams
    const { headers } = request
    entra.requests.push({ path: url.pathname, headers, fields: Object.fromEntries(form) })
    await entra.until
    const { refusal, lifetimeSeconds } = entra
    if (refusal !== undefined) {
      answer(refusal.status, refusal.body)
      return
    }
    const expires = isForm
      ? { expires_in: lifetimeSeconds }
      : { expires_on: String(Math.floor(Date.now() / 1000) + lifetimeSeconds) }
    const resource = form.get('resource')
    answer(200, {
      token_type: 'Bearer',
      access_token: issueToken(),
      ...expires,
      ...(resource !== null && { resource }),
    })
  }
  const authority = createTlsServer({ key: tls.key, cert: tls.certificate }, handle)
  const identity = createServer(handle)
  for (const server of [authority, identity]) await once(server.listen(0, '127.0.0.1'), 'listening')
  return Object.assign(entra, {
    authority: entraUrl(authority, 'https'),
    identityEndpoint: entraUrl(identity, 'http'),
  })
}

function entraUrl(server: ReturnType<typeof createServer>, scheme: 'http' | 'https'): string {
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`
}
