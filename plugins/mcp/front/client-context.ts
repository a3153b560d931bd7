import type { IncomingHttpHeaders } from 'node:http'
import { type ClientConnection, isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { parseJson } from '../../../core/util/json.ts'
import { apiKeyOf } from '../../auth/index.ts'
import type { ToolCaller } from '../../tool-rules/index.ts'
import type { ToolServer } from '../catalog.ts'
import type { Era } from '../protocol.ts'
import type { RequestTrace } from '../spans.ts'
import type { SessionSlot, UpstreamContext } from '../upstream/upstream.ts'
import { type ClientSession, digest, ownerOf, type Sessions } from './sessions.ts'

/** Who sends a message, to which servers, and what the client can do. */
export interface ClientContext {
  readonly era: Era
  /** `req_…` */
  readonly requestId: string
  readonly startedAt: number
  readonly caller: ToolCaller
  readonly rulesPosition: number
  readonly client: ClientConnection
  readonly headers: IncomingHttpHeaders
  /** One, or all of the caller. */
  readonly servers: readonly ToolServer[]
  /** Names of tools and prompts begin with that of their server. */
  readonly isMerged: boolean
  /** The endpoint as the client sees it: `/mcp/name`. A session is for one endpoint. */
  readonly endpoint: string
  readonly session: ClientSession | undefined
  readonly sessionId: string | undefined
  readonly capabilities: JsonObject
  readonly clientInfo: JsonObject | undefined
  readonly logLevel: string | undefined
  readonly acceptsEvents: boolean
  /** Undefined: the request is not traced. */
  readonly trace: RequestTrace | undefined
}

/** Capabilities for requests of servers that the gateway passes on. */
const PASSED_ON = ['elicitation', 'sampling', 'roots'] as const

function capabilitiesToPassOn(capabilities: JsonObject): JsonObject {
  const passedOn: Record<string, unknown> = {}
  for (const name of PASSED_ON) if (capabilities[name] !== undefined) passedOn[name] = capabilities[name]
  return passedOn
}

/** Which capability a client must have declared for a request of a server. */
export function capabilityFor(method: string): string | undefined {
  if (method === 'elicitation/create') return 'elicitation'
  if (method === 'sampling/createMessage') return 'sampling'
  return method === 'roots/list' ? 'roots' : undefined
}

/**
 * Builds what a request to a server is sent with. See docs/decisions/mcp.md, "Every client has its own
 * sessions at servers".
 */
export function upstreamContext(
  context: ClientContext,
  server: ToolServer,
  sessions: Sessions,
  signal: AbortSignal,
): UpstreamContext {
  const { caller, clientInfo, logLevel, session } = context
  const capabilities = capabilitiesToPassOn(context.capabilities)
  const authorization = findAuthorization(context, server)
  const token = findToken(context, server)
  const slot: SessionSlot =
    session === undefined
      ? {
          get key() {
            return digest([ownerOf(caller.account), authorization, JSON.stringify(capabilities)].join())
          },
          capabilities,
        }
      : sessions.slotOf(session, server.name, capabilities)
  return {
    caller: {
      userId: caller.account.userId,
      ...(authorization !== undefined && { authorization }),
      ...(token !== undefined && { token }),
    },
    session: slot,
    capabilities,
    clientInfo,
    logLevel,
    ...(context.trace !== undefined && { trace: context.trace }),
    signal,
  }
}

/**
 * The credentials that the caller sends for a server. Those for one are not sent to another. See
 * docs/decisions/mcp.md, "Headers are built, never copied".
 */
function findAuthorization({ headers, isMerged }: ClientContext, { name, transport }: ToolServer) {
  if (transport.type !== 'http' || transport.auth.type !== 'passthrough') return undefined
  const own = headers[`x-mcp-authorization-${name.toLowerCase()}`]
  const value = own ?? (isMerged ? undefined : headers['x-mcp-authorization'])
  return typeof value === 'string' ? value : undefined
}

/**
 * The caller's token of the identity provider, for a server that acts on behalf of users. A token that the
 * gateway has issued to a program is never passed on.
 */
function findToken({ headers, caller: { account } }: ClientContext, { transport }: ToolServer) {
  const isWanted = transport.type === 'http' && transport.auth.onBehalfOf === 'user'
  if (!isWanted || account.identity === undefined) return undefined
  const token = apiKeyOf({ headers })
  return token !== undefined && issuerOf(token) === account.identity.issuer ? token : undefined
}

function issuerOf(token: string): unknown {
  const claims = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return isJsonObject(claims) ? claims.iss : undefined
}
