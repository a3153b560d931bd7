import type { IncomingHttpHeaders } from 'node:http'
import { type Endpoint, endpoint, GatewayError, publicAccess, Type } from '../../core/contract/index.ts'
import { publicUrlOf } from './public-url.ts'
import type { CallerSettings, IdentitySettings } from './settings.ts'

const PATH = '/.well-known/oauth-protected-resource'

/**
 * Says where clients of `/mcp` get tokens that the gateway takes: RFC 9728, as the authorization of MCP
 * demands. Serves nothing at an address that the settings do not know.
 */
export function createResourceEndpoints(
  callers: readonly CallerSettings[],
  { url }: Pick<NonNullable<IdentitySettings['console']>, 'url'>,
): readonly Endpoint[] {
  const issuers = [...new Set(callers.map(({ issuer }) => issuer))]
  const describe = (suffix: string, headers: IncomingHttpHeaders) => ({
    status: 200,
    headers: { 'cache-control': 'no-store', 'access-control-allow-origin': '*' },
    body: {
      resource: findUrl(url, headers) + suffix,
      resource_name: 'Signalbox',
      authorization_servers: issuers,
      bearer_methods_supported: ['header'],
    },
  })
  const common = {
    access: publicAccess,
    tags: ['identity'],
    isUnlisted: true,
    method: 'GET',
    summary: 'Returns who issues the tokens that callers may use.',
    responses: { 200: { description: 'The metadata.', text: 'application/json' } },
  } as const
  return [
    endpoint({
      ...common,
      path: PATH,
      operationId: 'readProtectedResource',
      handle: ({ headers }) => describe('', headers),
    }),
    endpoint({
      ...common,
      path: `${PATH}/mcp`,
      operationId: 'readMcpResource',
      handle: ({ headers }) => describe('/mcp', headers),
    }),
    endpoint({
      ...common,
      path: `${PATH}/mcp/{server}`,
      operationId: 'readMcpServerResource',
      params: { server: Type.String({ maxLength: 128, description: 'Name of the tool server.' }) },
      handle: ({ headers, params }) => describe(`/mcp/${encodeURIComponent(params.server)}`, headers),
    }),
  ]
}

/** The header `www-authenticate` of a 401 at a path of `/mcp`; undefined at others. */
export function createChallenge({ url }: Pick<NonNullable<IdentitySettings['console']>, 'url'>) {
  return (path: string, headers: IncomingHttpHeaders): string | undefined => {
    if (!/^\/mcp(\/[\w.~%-]{1,128})?$/.test(path)) return undefined
    try {
      return `Bearer resource_metadata="${findUrl(url, headers)}${PATH}${path}"`
    } catch (error) {
      if (GatewayError.isInstance(error)) return undefined
      throw error
    }
  }
}

function findUrl(url: string | undefined, headers: IncomingHttpHeaders): string {
  try {
    return publicUrlOf(url === undefined ? {} : { url }, headers)
  } catch (error) {
    if (!GatewayError.isInstance(error)) throw error
    const message = 'The address of the gateway is not known: set identity.console.url to it.'
    throw new GatewayError('not_found', message)
  }
}
