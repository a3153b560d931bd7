import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

export type SigningKey = Awaited<ReturnType<typeof createSigningKey>>

/** An ES256 or other key with an id, as an identity provider signs with. */
export async function createSigningKey(kid: string, alg = 'ES256') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export interface IdentityProvider {
  readonly issuer: string
  /** How often the keys were fetched. */
  fetches(): number
  /** Publishes these keys from now on; a function answers in its own way. */
  publish(keys: readonly SigningKey[] | ((res: ServerResponse) => void)): void
  /** A token for `signalbox` that expires in five minutes, with these claims besides. */
  sign(claims?: JWTPayload, key?: SigningKey): Promise<string>
  stop(): Promise<void>
}

interface IdentityProviderOptions {
  /** Further fields of the discovery document. */
  metadata?(issuer: string): object
  /** Answers requests to other paths than those of the keys and the discovery document. */
  handle?(req: IncomingMessage, res: ServerResponse): unknown
}

/** An issuer on a free port, with a discovery document, keys, and tokens signed at will. */
export async function startIdentityProvider({
  metadata,
  handle,
}: IdentityProviderOptions = {}): Promise<IdentityProvider> {
  const first = await createSigningKey('first')
  let published: readonly SigningKey[] | ((res: ServerResponse) => void) = [first]
  let fetches = 0
  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    res.setHeader('content-type', 'application/json')
    if (req.url === '/.well-known/openid-configuration')
      return res.end(JSON.stringify({ issuer, jwks_uri: `${issuer}/keys`, ...metadata?.(issuer) }))
    if (handle && req.url !== '/keys') return handle(req, res)
    fetches++
    if (typeof published === 'function') return published(res)
    return res.end(JSON.stringify({ keys: published.map(({ jwk }) => jwk) }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    fetches: () => fetches,
    publish(keys) {
      published = keys
    },
    sign(claims = {}, { kid, alg, privateKey } = first) {
      const now = Math.floor(Date.now() / 1000)
      const payload = { iss: issuer, aud: 'signalbox', sub: 'ada', iat: now, exp: now + 300, ...claims }
      return new SignJWT(payload).setProtectedHeader({ alg, kid, typ: 'JWT' }).sign(privateKey)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
