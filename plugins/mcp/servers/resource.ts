import { basename } from 'node:path'
import {
  defineResource,
  GatewayError,
  Nullable,
  type ResourceFold,
  type ResourceId,
  StrictObject,
  StringEnum,
  serialId,
  type TSchema,
  Type,
} from '../../../core/contract/index.ts'
import { invalidParameterError } from '../../../core/http/parse-call.ts'
import { Count, Timestamp } from '../../../core/http/schemas.ts'
import { createNotFoundError } from '../../../core/resources/resource.ts'
import {
  foldToolServer,
  type ManagedToolServer,
  type PinnedTool,
  TOOL_SERVER_AUTH_TYPES,
  type ToolServerAuth,
  type ToolServerPolicy,
  toolServerEvents,
} from '../../../projections/events/tool-servers.ts'
import type { ToolServers } from '../../../projections/tool-servers.ts'
import type { AddressGuard } from './addresses.ts'
import type { SecretReferences } from './secret-references.ts'
import type { ToolServer } from './state.ts'
import { statusOf } from './tool-schemas.ts'

export interface ToolServerServices {
  readonly toolServers: Pick<ToolServers, 'named' | 'toolsOf'>
  readonly addresses: AddressGuard
  readonly secrets: SecretReferences
  /** Whether a program of the settings file has this name. */
  isProgram(name: string): boolean
}

/** A tool server as operators see it: one that they manage, or a program of the settings file. */
type ShownToolServer = ManagedToolServer | ProgramToolServer

export interface ProgramToolServer extends ToolServerPolicy {
  readonly id: string
  readonly name: string
  readonly url: null
  readonly auth: ToolServerAuth
  /** File name of the program. Its arguments may hold secrets. */
  readonly program: string
  readonly rank: number
  readonly revision?: number
}

/** The programs of the settings file, behind all others. */
export function listPrograms(servers: readonly ToolServer[]): readonly ProgramToolServer[] {
  const programs = servers.flatMap(({ transport, ...server }) =>
    transport.type === 'program' ? [{ ...server, program: basename(transport.program.command[0]) }] : [],
  )
  return programs.map(({ id: _, ...server }, index) => ({
    ...server,
    id: server.name,
    url: null,
    auth: { type: 'none' },
    rank: FIRST_PROGRAM_RANK + index,
  }))
}

/** Behind all ids. */
const FIRST_PROGRAM_RANK = 9_000_000_000_000_000

/** Ids of the sequence that others share, or the name of a program. */
const toolServerIds: ResourceId<number | string> = {
  note: '; of a program of the settings file, its name',
  schema: { ...serialId(31).schema, type: ['integer', 'string'] } as TSchema,
  create: serialId(31).create,
}

const optionalText = (maxLength: number, description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength, description }))

const Auth = StrictObject(
  {
    type: StringEnum(TOOL_SERVER_AUTH_TYPES, {
      description:
        'Not at all, by a bearer token, by a header, by OAuth (client credentials, or exchanged for the ' +
        "caller's token), or by the credentials that the caller sends (passthrough).",
    }),
    secret_ref: optionalText(
      512,
      'Where the secret is: env:NAME or file:PATH. Required with bearer, header and oauth.',
    ),
    header: optionalText(128, 'With header: its name.'),
    token_url: optionalText(2048, 'With oauth: the token endpoint of the authorization server.'),
    client_id: optionalText(512, 'With oauth: the id of the gateway there.'),
    scope: optionalText(1024, 'With oauth: the scopes to ask for, separated by spaces.'),
    resource: optionalText(2048, 'With oauth: the resource that the tokens are for (RFC 8707).'),
    on_behalf_of: Type.Optional(
      StringEnum(['gateway', 'user'], {
        description:
          "With oauth: whose tokens calls have, the gateway's (default), or one that is exchanged for the " +
          "caller's token of the identity provider.",
      }),
    ),
  },
  {
    $id: 'ToolServerAuth',
    description: 'How the gateway authenticates at the server.',
    default: { type: 'none' },
  },
)

/**
 * Servers whose tools callers use through the gateway. See docs/decisions/tools.md, "A name is never
 * changed".
 */
export const toolServers = defineResource({
  name: 'tool server',
  plural: 'tool servers',
  description: 'A server whose tools callers use through the gateway.',
  path: '/admin/tool-servers',
  tag: 'tools',
  roles: { read: 'auditor', write: 'admin' },
  id: toolServerIds,
  fields: {
    name: Type.String({
      pattern: '^[0-9-]*[a-z][a-z0-9-]*$',
      maxLength: 64,
      description:
        'Name of the server in paths and in the names of tools: lower-case letters, digits and hyphens, ' +
        'with at least one letter. Unique, and never changed.',
    }),
    url: Type.String({
      pattern: '^https?://',
      maxLength: 2048,
      description: 'Address of the MCP endpoint (streamable HTTP).',
    }),
    is_enabled: Type.Boolean({ default: true, description: 'Whether the server is used.' }),
    auth: Auth,
    default: StringEnum(['allow', 'deny'], {
      default: 'allow',
      description: 'What happens to calls that no rule decides about.',
    }),
    new_tools: StringEnum(['pending', 'approved'], {
      default: 'pending',
      description: 'Whether new tools must be approved before they are served.',
    }),
    changed_tools: StringEnum(['block', 'serve_approved'], {
      default: 'block',
      description:
        'What happens to tools whose definition has changed until the new one is approved: they are not ' +
        'served (block), or with the definition that was approved.',
    }),
    timeout_ms: Nullable(Type.Integer({ minimum: 1, maximum: 86_400_000 }), {
      default: null,
      description: 'How long a call may take; null: as the settings say.',
    }),
    max_concurrent: Nullable(Type.Integer({ minimum: 1, maximum: 100_000 }), {
      default: null,
      description: 'Calls at the same time, per process; null: as the settings say.',
    }),
  },
  shown: {
    url: Nullable(Type.String(), { description: 'Address of the MCP endpoint; null for a program.' }),
    program: Type.Optional(
      Type.String({ description: 'Name of the program, if the server is one of the settings file.' }),
    ),
    tools: Type.Optional(Count('How many tools it lists, if the list was asked for it.')),
    undecided_tools: Type.Optional(
      Count('How many of them have a definition that waits for a decision, if the list was asked for it.'),
    ),
    created_at: Type.Optional(Timestamp('When the server was created.')),
    updated_at: Type.Optional(Timestamp('When its settings were last changed.')),
  },
  list: {
    rank: (server: ShownToolServer) => ('rank' in server ? server.rank : server.id),
    order: 'sorted by id, programs of the settings file last',
    limit: 100,
    isSearchable: true,
    more: {
      parameter: {
        name: 'tool_counts',
        description: 'Adds how many tools a server lists, and how many of them wait for a decision.',
      },
      read:
        ({ toolServers }) =>
        ({ id }) => {
          const listed = [...toolServers.toolsOf(id).values()].filter(({ removedAt }) => !removedAt)
          const isUndecided = (tool: PinnedTool) => ['pending', 'changed'].includes(statusOf(tool))
          return { tools: listed.length, undecided_tools: listed.filter(isUndecided).length }
        },
    },
  },
  summaries: {
    delete: 'Deletes a tool server, with what was decided about its tools.',
  },
  examples: {
    create: {
      public: { name: 'docs', url: 'https://mcp.example.com/mcp' },
      token: {
        name: 'tickets',
        url: 'https://tickets.example.com/mcp',
        auth: { type: 'bearer', secret_ref: 'env:MCP_TICKETS_TOKEN' },
        default: 'deny',
      },
    },
    update: { suspend: { is_enabled: false } },
  },
  events: {
    family: toolServerEvents,
    created: 'ToolServerCreated',
    changed: 'ToolServerChanged',
    deleted: 'ToolServerDeleted',
    // The cast is safe: programs have no such events.
    fold: foldToolServer as ResourceFold<ShownToolServer>,
  },
  complete(given, before: ShownToolServer | undefined) {
    if (before !== undefined) refuseProgram(before)
    if (before !== undefined && given.name !== undefined && given.name !== before.name) {
      const advice = 'Rules and clients refer to it: create another server.'
      throw invalidParameterError('name', `The name of tool server ${before.id} cannot be changed. ${advice}`)
    }
    return given
  },
  checkReferences(given, services: ToolServerServices, id) {
    if (given.name !== undefined) requireUnused(given.name, id, services)
    checkFields(given, services)
  },
  checkUnused: refuseProgram,
})

/** Throws 409 for a server that is not managed here. */
function refuseProgram(server: ShownToolServer): void {
  if (!('program' in server)) return
  const advice = 'Change it there (mcp.servers).'
  const message = `Tool server ${server.name} is a program of the settings file. ${advice}`
  throw new GatewayError('conflict', message)
}

/** Of servers that nodes create at the same time under one name, the first one is used. */
function requireUnused(
  name: string,
  id: number | string | undefined,
  { toolServers, isProgram }: ToolServerServices,
): void {
  const other = toolServers.named(name)
  if (!isProgram(name) && (other === undefined || other.id === id)) return
  const holder = other === undefined ? 'A program of the settings file' : `Tool server ${other.id}`
  throw new GatewayError('conflict', `${holder} has the name ${name}. Choose another name.`)
}

function checkFields(
  { url, auth }: { readonly url?: string | undefined; readonly auth?: unknown },
  { addresses, secrets }: ToolServerServices,
): void {
  if (url !== undefined) checkUrl('url', url, addresses)
  if (auth === undefined) return
  // The cast is safe: the field matches its schema.
  const { tokenUrl } = auth as ToolServerAuth
  checkAuth(auth as ToolServerAuth, secrets)
  if (tokenUrl !== undefined) checkUrl('auth.token_url', tokenUrl, addresses)
}

function checkUrl(param: string, text: string, addresses: AddressGuard): void {
  // The address is not repeated: it may have a password.
  const refuse = (issue: string) => invalidParameterError(param, `${param} ${issue}.`)
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw refuse('must be a URL that begins with https:// or http://')
  if (url.username !== '' || url.password !== '')
    throw refuse('must not have a user name or password. Use auth with secret_ref')
  if (url.hash !== '') throw refuse('must not have a fragment')
  const issue = addresses.findIssue(url)
  if (issue !== undefined) throw refuse(issue)
}

/** The fields that each type of authentication needs, and those that it may have. */
const AUTH_FIELDS: Readonly<
  Record<ToolServerAuth['type'], { readonly needs: readonly string[]; readonly may: readonly string[] }>
> = {
  none: { needs: [], may: [] },
  passthrough: { needs: [], may: [] },
  bearer: { needs: ['secretRef'], may: [] },
  header: { needs: ['secretRef', 'header'], may: [] },
  oauth: { needs: ['secretRef', 'tokenUrl', 'clientId'], may: ['scope', 'resource', 'onBehalfOf'] },
}

/** Headers that belong to the connection or to the protocol, and those of other types. */
const RESERVED_HEADERS = [
  ...['accept.*', 'authorization', 'connection', 'content-.*', 'cookie', 'expect', 'host', 'keep-alive'],
  ...['last-event-id', 'mcp-.*', 'origin', 'proxy-.*', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['via', 'x-forwarded-.*'],
]
const RESERVED_HEADER = new RegExp(`^(${RESERVED_HEADERS.join('|')})$`, 'i')

function checkAuth(auth: ToolServerAuth, secrets: SecretReferences): void {
  const { needs, may } = AUTH_FIELDS[auth.type]
  const { type: _, ...given } = auth
  const snake = (field: string) =>
    `auth.${field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`
  const missing = needs.find((field) => !Object.hasOwn(given, field))
  if (missing !== undefined)
    throw invalidParameterError(snake(missing), `${snake(missing)} is required with the type ${auth.type}.`)
  const surplus = Object.keys(given).find((field) => !needs.includes(field) && !may.includes(field))
  if (surplus !== undefined)
    throw invalidParameterError(
      snake(surplus),
      `${snake(surplus)} has no meaning with the type ${auth.type}.`,
    )
  if (auth.secretRef !== undefined) secrets.check(auth.secretRef, 'auth.secret_ref')
  const { header } = auth
  if (header === undefined) return
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header) || RESERVED_HEADER.test(header))
    throw invalidParameterError(
      'auth.header',
      'auth.header must be the name of a header that is free for keys, such as x-api-key.',
    )
}

export const toolServerNotFound = (id: number | string) => createNotFoundError(toolServers, id)
