import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { DefaultState, Next, ParameterizedContext } from 'koa'
import type { ErrorCode } from './error-codes.ts'
import { GatewayError } from './errors.ts'
import type { Author } from './event-log.ts'
import type { Account, ClientConnection, DefaultHeaders, EndedExchange, Plan } from './exchange.ts'
import {
  type JsonObject,
  type Static,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  Type,
} from './json.ts'

/** Fields that the gateway adds to Koa's context. */
export interface GatewayFields {
  /** `req_…`; sent on every response as `x-request-id`. */
  readonly requestId: string
  /** `performance.now()` when the request arrived. */
  readonly startedAt: number
  /** `performance.now()` when an inference request was admitted: its body is read next. */
  admittedAt?: number
  readonly client: ClientConnection
  readonly res: DefaultHeaders
  /** Path of the matched endpoint, such as `/v1/routing-rules/:id`; undefined if there is none. */
  endpoint?: string
  /** The matched endpoint is an inference endpoint. */
  isInference?: boolean
  /** See `EndedRequest`. */
  overheadMs?: number | undefined
  /** The deployment in a path of Azure OpenAI: the model of the request, whatever its body says. */
  deployment?: string
  /** Who may call the matched endpoint. */
  access?: Access
  /** Form of error bodies; `general` if undefined. */
  errorStyle?: ErrorStyle
  /** Sent with status 200 in place of an error: the records of a stream that ends with it. */
  errorStream?: string | undefined
  /** Set by the `auth` plugin. */
  account: Account
  /** Throws if the account may not be used any more, once the body has arrived. Set by the `auth` plugin. */
  confirmAccount?: (account: Account) => void
  /** The W3C trace id, set by the `tracing` plugin: 32 hexadecimal digits. */
  traceId?: string
  /** Set on inference endpoints once the body is read. */
  exchange: EndedExchange
  /** Resolves when the outcome of a reply is recorded whose stream was opened before it arrived. */
  lateReply?: Promise<unknown>
  /** The error that was answered. */
  error?: GatewayError
}

export type GatewayContext = ParameterizedContext<DefaultState, GatewayFields>

export type GatewayMiddleware = (ctx: GatewayContext, next: Next) => void | Promise<void>

/** A request before its body is read; for the phase `admit`. */
export interface Admission
  extends Pick<GatewayContext, 'method' | 'path' | 'headers' | 'req'>,
    Pick<
      GatewayFields,
      | 'requestId'
      | 'startedAt'
      | 'client'
      | 'endpoint'
      | 'isInference'
      | 'access'
      | 'confirmAccount'
      | 'traceId'
    > {
  /** Set by `auth`; undefined before. */
  account?: Account
  /** For headers of the response. */
  readonly res: DefaultHeaders
}

/** Returns the authenticated caller. Throws if no plugin listed earlier has set it. */
export function requireAccount({ account }: Pick<Admission, 'account'>): Account {
  if (account !== undefined) return account
  const message = 'No plugin authenticated the caller. Add "auth" to the list of plugins.'
  throw new GatewayError('internal_error', message)
}

/** A request whose response has ended. Includes rejected requests. */
export interface EndedRequest {
  /** `req_…`. */
  readonly id: string
  /** Set by `tracing`. */
  readonly traceId: string | undefined
  readonly method: string
  /** As the caller sent it: unbounded, so not for metric labels. */
  readonly path: string
  /** Path of the matched endpoint, such as `/v1/routing-rules/:id`; undefined if there is none. */
  readonly endpoint: string | undefined
  /** The matched endpoint is an inference endpoint. */
  readonly isInference: boolean
  readonly status: number
  /** Why the request was refused or failed; undefined if it was answered. */
  readonly error: GatewayError | undefined
  /** The client disconnected before the response ended. */
  readonly isAborted: boolean
  /** `performance.now()` when the request arrived. */
  readonly startedAt: number
  /** `performance.now()` when the response ended. */
  readonly endedAt: number
  /**
   * Milliseconds that the gateway itself took until the head of the response, or the first event over
   * WebSocket. Undefined if there was none, and for endpoints that do not tell it.
   */
  readonly overheadMs: number | undefined
  /** Undefined if the caller was not authenticated. */
  readonly account: Account | undefined
  /** Undefined on endpoints other than inference, and if the request could not be parsed. */
  readonly exchange: EndedExchange | undefined
}

/** Called once per request, on the hot path. */
export type RequestObserver = (request: EndedRequest) => void

/** Each role may do what the following ones may. See docs/guides/operators.md, "Roles". */
export const OPERATOR_ROLES = ['admin', 'editor', 'auditor'] as const

export type OperatorRole = (typeof OPERATOR_ROLES)[number]

export function isOperatorRole(text: string): text is OperatorRole {
  return (OPERATOR_ROLES as readonly string[]).includes(text)
}

/**
 * What operators with a scope get of an endpoint: only what belongs to the groups of their scope, all of it
 * because nothing is confidential, or 403. See docs/guides/operators.md, "Scopes".
 */
export const SCOPED_ACCESS = ['filtered', 'whole', 'refused'] as const

export type ScopedAccess = (typeof SCOPED_ACCESS)[number]

/** Who may call an endpoint. */
export type Access =
  | { readonly type: 'public' }
  | { readonly type: 'user'; readonly plan?: Plan }
  | OperatorAccess

export interface OperatorAccess {
  readonly type: 'operator'
  readonly role: OperatorRole
  /** Default: `refused`. */
  readonly scoped?: ScopedAccess
}

/** The groups that an operator is confined to. Deleted groups are none of them. */
export interface OperatorScope {
  /** Their ids. */
  groups(): readonly number[]
  hasGroup(groupId: number): boolean
  /** Whether a user is a member of one of the groups. */
  hasUser(userId: number): boolean
}

/**
 * The form of error bodies (docs/api.md, "Errors"). Third-party endpoints use `general`, or `openai` if
 * OpenAI clients call them.
 */
export type ErrorStyle = 'general' | 'openai' | 'anthropic' | 'route' | 'json-rpc'

/** A response of an endpoint, by status. Without `body`, `events` and `text` it has no body. */
export interface ResponseDescription {
  readonly description: string
  /** Schema of a JSON body. */
  readonly body?: TSchema
  /** Schema of the `data` of each SSE record, for endpoints that can stream. */
  readonly events?: TSchema
  /** Media types of a text body. */
  readonly text?: string | readonly string[]
  readonly headers?: TProperties
  /** Examples of the JSON body by name. */
  readonly examples?: Readonly<Record<string, unknown>>
}

/** Everything about an endpoint but its handler. */
export interface EndpointDescription {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters in braces: `/v1/routing-rules/{id}`. Letter case and a trailing slash count. */
  readonly path: string
  readonly access: Access
  /** Name of the operation in generated clients, such as `listRoutingRules`. Unique. */
  readonly operationId: string
  /** One sentence. */
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  /** Schema of each path parameter. Integers must be in canonical form, or the response is 404. */
  readonly params?: TProperties
  /** Schema of each query parameter. Any other parameter is refused. */
  readonly query?: TProperties
  /** Another service sends browsers here, with parameters that it chooses: all are passed on, as texts. */
  readonly acceptsAnyQuery?: true
  /** Schemas of request headers, for the documentation. */
  readonly headers?: TProperties
  /** Schema of the JSON body. Undefined: bodies are ignored. `Type.Optional`: the body may be missing. */
  readonly body?: TSchema
  /** Complete, valid bodies by name. */
  readonly examples?: Readonly<Record<string, unknown>>
  /** Another form of the body. */
  readonly textBody?: TextBody
  /** The body is no JSON: it is handed over as bytes, up to a limit. */
  readonly rawBody?: RawBody
  readonly responses: Readonly<Record<number, ResponseDescription>>
  /** Error codes of the endpoint, besides those that follow from the other fields. */
  readonly errors?: readonly (ErrorCode | (string & {}))[]
  /** Default: `general`. */
  readonly errorStyle?: ErrorStyle
  /** Its responses tell the own time of the gateway, as all of inference endpoints do. */
  readonly tellsOwnTime?: true
  /** The address that serves the endpoint: the main one (default) or that of direct routing. */
  readonly listener?: 'main' | 'direct'
  /** What the endpoint does with what operators manage: `x-resource` in `/openapi.json`. */
  readonly resource?: {
    readonly name: string
    readonly action: 'list' | 'create' | 'read' | 'update' | 'delete' | 'history'
  }
  /** A file for browsers or a WebSocket, which the OpenAPI document leaves out. */
  readonly isUnlisted?: true
}

/** The response of a handler. */
export interface EndpointResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A JSON value, or text if `headers` has a content type. */
  readonly body?: unknown
  /** The body as JSON text in UTF-8, in place of `body`. */
  readonly json?: Uint8Array
  /** Complete SSE records, in place of a body; or parts of a body if `headers` has a content type. */
  readonly stream?: AsyncIterable<string | Uint8Array>
}

/** A request to an endpoint, after validation. */
export interface EndpointCall<CallAccess = Access, Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly account: CallAccess extends { readonly type: 'user' } ? Account : undefined
  /** The caller as the author of changes; undefined on public endpoints. */
  readonly author: CallAccess extends { readonly type: 'public' } ? undefined : Author
  /** What the operator is confined to; undefined for users, and for operators of everything. */
  readonly scope: CallAccess extends { readonly type: 'operator' } ? OperatorScope | undefined : undefined
  /** `req_…`; also the `x-request-id` header. */
  readonly requestId: string
  readonly client: ClientConnection
  readonly headers: IncomingHttpHeaders
  /** For the address of the client. */
  readonly req: IncomingMessage
}

/** A body that is handled as text while it arrives, of any length, in place of JSON. */
export interface TextBody {
  readonly types: readonly string[]
  /** Tells by the query whether the body is such a text. */
  applies(query: Readonly<Record<string, unknown>>): boolean
  handle(
    call: EndpointCall<Access, unknown, Readonly<Record<string, unknown>>, undefined> & {
      readonly text: AsyncIterable<string>
    },
  ): Promise<EndpointResponse>
}

/** A body of another form than JSON, such as a form of a browser. `call.body` is then a `Buffer`. */
export interface RawBody {
  readonly types: readonly string[]
  readonly maxBytes: number
}

/** An endpoint as plugins return it: see `endpoint`. */
export interface Endpoint extends EndpointDescription {
  /** Validates the body in place of its schema. Returns `call.body`. */
  parseBody?(body: JsonObject): unknown
  /**
   * For endpoints of operators: what the audit trail records of a call with this query, before it is handled.
   * Undefined: nothing.
   */
  audited?(query: Readonly<Record<string, unknown>>): 'export' | 'prompts' | undefined
  /** Returns the 404 for a path parameter that does not match its schema; by default it names the path. */
  notFound?(text: string): GatewayError
  handle(call: EndpointCall): EndpointResponse | Promise<EndpointResponse>
}

type StaticBody<Body> = Body extends TSchema
  ? Body extends TOptional<TSchema>
    ? Static<Body> | undefined
    : Static<Body>
  : undefined

interface EndpointDeclaration<
  EndpointAccess extends Access,
  Params extends TProperties,
  Query extends TProperties,
  Body extends TSchema | undefined,
  Parsed,
> extends Omit<Endpoint, 'body' | 'handle'> {
  readonly access: EndpointAccess
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  parseBody?(body: JsonObject): Parsed
  handle(
    call: EndpointCall<EndpointAccess, Static<TObject<Params>>, Static<TObject<Query>>, Parsed>,
  ): EndpointResponse | Promise<EndpointResponse>
}

/**
 * Declares an endpoint: its route, who may call it, the schemas of its parameters, body and responses, and
 * its handler. The gateway validates requests by the schemas, and describes the endpoint in `/openapi.json`.
 */
export function endpoint<
  EndpointAccess extends Access,
  Params extends TProperties = Record<never, TSchema>,
  Query extends TProperties = Record<never, TSchema>,
  Body extends TSchema | undefined = undefined,
  Parsed = StaticBody<Body>,
>(declaration: EndpointDeclaration<EndpointAccess, Params, Query, Body, Parsed>): Endpoint {
  // The cast is safe: the gateway calls the handler with values of the declared schemas only.
  return declaration as unknown as Endpoint
}

/** No authentication. */
export const publicAccess = { type: 'public' } as const

/** Users with an API key, on the given plan if there is one. */
export function user(requirement: { readonly plan?: Plan } = {}) {
  return { type: 'user', ...requirement } as const
}

/**
 * Operators whose role includes the given one. Served if there is an admin key or an operator. A handler of
 * `filtered` endpoints must leave out, and answer 404 for, what is not in the `scope` of the call.
 */
export function operator(role: OperatorRole, scoped: ScopedAccess = 'refused') {
  return { type: 'operator', role, scoped } as const
}

/** The `{data: …}` envelope of a successful result. Named after its content in generated clients. */
export function data<Schema extends TSchema>(schema: Schema) {
  const name = schema.$id ?? (schema.items as TSchema | undefined)?.$id
  const $id = name && `${name}${schema.$id === undefined ? 'List' : 'Result'}`
  return Type.Object({ data: schema }, { ...($id && { $id }), description: 'The result.' })
}
