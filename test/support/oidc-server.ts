import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Context } from 'oidc-provider'
import { createSigningKey } from './identity-provider.ts'

export const CLIENT_SECRET = randomUUID()

/** The certified implementation of npm, with pages on which people say who they are. */
export interface OidcServer {
  readonly issuer: string
  /** The groups of people by their names. Whoever is missing does not exist. */
  readonly people: Map<string, readonly string[]>
  /** Lets the gateway at this address be signed in to. */
  register(gatewayUrl: string): Promise<void>
  stop(): Promise<void>
}

/** Starts an identity provider on a free port. Nobody can sign in before a gateway is registered. */
export async function startOidcServer(): Promise<OidcServer> {
  let handle = (_: IncomingMessage, res: ServerResponse): void => void res.writeHead(503).end()
  const server = createServer((req, res) => handle(req, res))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const people = new Map<string, readonly string[]>()
  return {
    issuer,
    people,
    async register(gatewayUrl) {
      handle = await createHandler(issuer, gatewayUrl, people)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function createHandler(issuer: string, gatewayUrl: string, people: OidcServer['people']) {
  const { default: Provider } = await import('oidc-provider')
  const { privateKey, kid, alg } = await createSigningKey('oidc', 'RS256')
  const { exportJWK } = await import('jose')
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'signalbox',
        client_secret: CLIENT_SECRET,
        redirect_uris: [`${gatewayUrl}/console/callback`],
        post_logout_redirect_uris: [`${gatewayUrl}/console/`],
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ],
    claims: { openid: ['sub'], email: ['email'], groups: ['groups'] },
    cookies: { keys: [randomUUID()] },
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid, alg, use: 'sig' }] },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: true, logoutSource: showLogout },
    },
    interactions: { url: (_: Context, { uid }: { uid: string }) => `/interaction/${uid}` },
    ttl: { AccessToken: 600, Grant: 3600, IdToken: 600, Interaction: 600, Session: 3600, RefreshToken: 3600 },
    issueRefreshToken: async () => true,
    loadExistingGrant: grantEverything,
    async findAccount(_: Context, accountId: string) {
      const groups = people.get(accountId)
      if (groups === undefined) return undefined
      return { accountId, claims: () => ({ sub: accountId, email: `${accountId}@example.com`, groups }) }
    },
  })
  const answer = provider.callback()

  async function interact(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method !== 'POST') {
      res.setHeader('content-type', 'text/html')
      res.end(LOGIN_PAGE)
      return
    }
    const accountId = new URLSearchParams(await text(req)).get('name') ?? ''
    await provider.interactionFinished(req, res, { login: { accountId } })
  }

  return (req: IncomingMessage, res: ServerResponse): void => {
    if (req.url?.startsWith('/interaction/')) interact(req, res).catch((error) => res.destroy(error))
    else answer(req, res)
  }
}

async function grantEverything({ oidc: { client, session, provider } }: Context) {
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
  grant.addOIDCScope('openid email groups')
  await grant.save()
  return grant
}

const LOGIN_PAGE =
  '<!doctype html><html lang="en"><title>Log in</title><form method="post">' +
  '<label>Name <input name="name"></label> <button>Log in</button></form></html>'

function showLogout(ctx: Context, form: string): void {
  ctx.body =
    `<!doctype html><html lang="en"><title>Log out</title>${form}` +
    '<button type="submit" form="op.logoutForm" name="logout" value="yes">Log out</button></html>'
}
