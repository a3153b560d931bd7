import { type ChatRequest, type Reply, ReplyEvent } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { ClientConnection, WaitingTime } from '../../core/contract/exchange.ts'
import { NATIVE } from '../../core/contract/native-records.ts'
import type {
  Operation,
  OperationFormat,
  ParameterChange,
  ProviderAdapter,
  ProviderRequest,
  StreamReader,
  Target,
} from '../../core/contract/provider.ts'
import { createSecretRedactor, type SecretRedactor } from '../../core/secrets/redact-secrets.ts'
import { parseJson } from '../../core/util/json.ts'
import { isPromiseLike, type MaybePromise } from '../../core/util/maybe-promise.ts'
import { whileWaiting } from '../../core/util/while-waiting.ts'
import { OPENAI_LIMITS } from './api-limits.ts'
import { authorizeRequest } from './authorize.ts'
import { CallDeadline } from './call-deadline.ts'
import { createPool } from './connection.ts'
import { parseErrorByStatus, unusableReplyError } from './errors.ts'
import { createBodyReader } from './frames.ts'
import { ProviderCall, type ResponseLimit, toNetworkError, type WholeResponse } from './http.ts'
import { sendInTurn, splitInputs } from './input-batches.ts'
import { replaceLoneSurrogates } from './json-string.ts'
import { toCallerNames, withCallerNames } from './plain-request.ts'
import { createRequestPreparer, joinLists, type ReaderOptions } from './prepare-request.ts'
import { toRegularReply, withRegularEvents } from './regular-reply.ts'
import { type RenewableCredentials, withRenewal } from './renew-credentials.ts'
import type { PatternAdapter } from './reply-patterns.ts'
import { buildAuthHeaders, createHeaderBuilder, type ProviderAuth } from './request-headers.ts'
import { createPathBuilder } from './request-path.ts'
import { isErrorStatus, type ResponseHead } from './response-head.ts'
import { restoreNames, restoreNamesIn } from './restore-names.ts'
import { parseStreamText, StreamBatches } from './stream.ts'

export interface ProviderClientOptions extends ReaderOptions {
  /** The provider's id, which error messages name. */
  readonly id: string
  /** Such as `https://api.openai.com/v1`. `{model}` in its path stands for the model of the request. */
  readonly baseUrl: string
  readonly apiKey?: string | undefined
  /** Removes the secrets of the gateway from errors. Default: knows the API key only. */
  readonly redactor?: SecretRedactor | undefined
  /** Default: the headers of the adapter. */
  readonly auth?: ProviderAuth | undefined
  /** As `authorize` of the adapter, in place of it and of all headers with a key. */
  readonly authorizer?: (Pick<Required<ProviderAdapter>, 'authorize'> & RenewableCredentials) | undefined
  /** Query parameters of every request. */
  readonly query?: Readonly<Record<string, string>> | undefined
  readonly timeouts: {
    readonly connect_ms: number
    /** Until the head of a whole reply, or the first event of a stream. */
    readonly first_byte_ms: number
    /** Between two reads after that. */
    readonly idle_ms: number
  }
  /** The maximum number of connections; unlimited when left out. */
  readonly connections?: number
}

/** An HTTP client for one provider, with its connection pool. */
export interface ProviderClient {
  readonly id: string
  /**
   * Sends a request. Resolves with a whole reply, or with a stream once its first events have arrived: every
   * failure before that rejects, so that another target can be tried. Rejects with a `GatewayError`, or with
   * the client's reason if it disconnected.
   */
  send(
    request: ChatRequest,
    target: Target,
    client: ClientConnection,
    options?: SendOptions,
  ): Promise<SentRequest>
  /**
   * Asks the provider for the input tokens of a chat request. Undefined if its format has no such request.
   * Rejects as `send` does, also after `timeoutMs` milliseconds.
   */
  readonly countTokens?:
    | ((request: ChatRequest, target: Target, client: ClientConnection, timeoutMs: number) => Promise<number>)
    | undefined
  /** Builds a request without sending it, to find out what the target would not get as it is. */
  findDeviations(request: ChatRequest, target: Target): Deviations
  /** Accepts no more requests, and resolves when those in flight have ended. */
  close(): Promise<void>
}

export interface SendOptions {
  /** Default: `chat`. Rejects with a `GatewayError` if the provider's format does not have it. */
  readonly operation?: Operation | undefined
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface SentRequest extends Deviations {
  readonly reply: Reply
}

/** How a request to a provider differs from that of the caller. Names are as the caller wrote them. */
export interface Deviations {
  /** The request fields that were left out because the target does not support them. */
  readonly omitted: readonly string[]
  /** The request fields that were sent with another value. */
  readonly changed: readonly ParameterChange[]
}

/** A request for a provider. */
interface BuiltRequest {
  readonly built: ProviderRequest
  readonly deviations: Deviations
  /** The caller's names of tools by those that were sent, if any was replaced. */
  readonly renamed: ReadonlyMap<unknown, string> | undefined
  /** The request with the names that the provider knows. */
  readonly sent: ChatRequest
}

/** A request that was sent. */
type StartedRequest = Omit<BuiltRequest, 'built'> & { readonly call: ProviderCall }

const MAX_REPLY_MIB = 64
const REPLY_LIMIT: ResponseLimit = { maxBytes: MAX_REPLY_MIB * 1024 * 1024, isCutOff: false }
const ERROR_LIMIT: ResponseLimit = { maxBytes: 64 * 1024, isCutOff: true }

export function createProviderClient(options: ProviderClientOptions): ProviderClient {
  const { id, adapter } = options
  if (adapter.forModel === undefined) return createClient(options)
  const adapterOf = adapter.forModel.bind(adapter)
  const clients = new Map<ProviderAdapter, ProviderClient>()
  const clientOf = ({ model }: Target): ProviderClient => {
    const own = adapterOf(model)
    const client = clients.get(own) ?? createClient({ ...options, adapter: own })
    clients.set(own, client)
    return client
  }
  return {
    id,
    send: async (request, target, ...rest) => clientOf(target).send(request, target, ...rest),
    async countTokens(request, target, ...rest) {
      const { countTokens } = clientOf(target)
      if (countTokens === undefined) throw unusableReplyError(`${id} does not count tokens of this model.`)
      return countTokens(request, target, ...rest)
    },
    findDeviations: (request, target) => clientOf(target).findDeviations(request, target),
    async close() {
      await Promise.all([...clients.values()].map((client) => client.close()))
    },
  }
}

/** A client for models of one format. */
function createClient(options: ProviderClientOptions): ProviderClient {
  const { id, adapter, apiKey, authorizer, timeouts, redactor = createSecretRedactor([apiKey]) } = options
  const { limits = OPENAI_LIMITS } = adapter
  const { origin } = new URL(options.baseUrl)
  const pathOf = createPathBuilder(options.baseUrl, options.query)
  const prepare = createRequestPreparer(options)
  const ownAuthorize = options.auth === undefined ? adapter.authorize?.bind(adapter) : undefined
  const authorize = authorizer?.authorize ?? ownAuthorize
  const patterns = (adapter as PatternAdapter).createReplyPatterns?.()
  const isSse = (adapter.frames ?? 'sse') === 'sse'
  const headersOf = createHeaderBuilder({
    // Without it, any encoding is acceptable.
    'accept-encoding': 'identity',
    ...(authorizer === undefined && buildAuthHeaders(adapter, apiKey, options.auth)),
  })
  // `CallDeadline` enforces the timeouts after connecting: undici cannot tell a first event from a first
  // byte.
  const pool = createPool(origin, {
    connections: options.connections ?? null,
    connectTimeout: timeouts.connect_ms,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 30_000,
  })

  function renewing<Result>(client: ClientConnection, call: () => Promise<Result>): Promise<Result> {
    return authorizer === undefined ? call() : withRenewal(authorizer, client, call)
  }

  function build(
    request: ChatRequest,
    target: Target,
    format: Pick<OperationFormat, 'buildRequest'> = adapter,
  ): BuiltRequest {
    const prepared = prepare(request, target)
    const built = format.buildRequest(prepared.request, target)
    const deviations = {
      omitted: joinLists(prepared.omitted, toCallerNames(request, built.omitted)),
      changed: withCallerNames(request, joinLists(prepared.changed, built.changed ?? [])),
    }
    const { renamed } = prepared
    return { built, deviations, renamed, sent: renamed === undefined ? request : prepared.request }
  }

  function send(
    request: ChatRequest,
    target: Target,
    client: ClientConnection,
    options: SendOptions = {},
  ): Promise<SentRequest> {
    const embeddings = options.operation === 'embeddings' ? limits.embeddings : undefined
    const batches = embeddings && splitInputs(request, embeddings)
    if (batches === undefined && authorizer === undefined) return sendOnce(request, target, client, options)
    const sendBatch = (batch: ChatRequest) => renewing(client, () => sendOnce(batch, target, client, options))
    return batches === undefined ? sendBatch(request) : sendInTurn(batches, sendBatch)
  }

  async function sendOnce(
    request: ChatRequest,
    target: Target,
    client: ClientConnection,
    { operation = 'chat', headers: further }: SendOptions,
  ): Promise<SentRequest> {
    const format = operation === 'chat' ? adapter : findOperation(operation, target)
    const { waiting } = client
    let call: ProviderCall | undefined
    const deadline = new CallDeadline(id, client, timeouts.first_byte_ms, (reason) => call?.abort(reason))
    try {
      if (deadline.aborted !== undefined) throw deadline.aborted.reason
      const starting = start(request, target, deadline, format, waiting, further)
      const started = isPromiseLike(starting) ? await starting : starting
      call = started.call
      const { renamed, sent, deviations } = started
      const received = request.stream
        ? await readStream(call, deadline, target.model, sent, renamed, waiting)
        : await readWhole(call, deadline, waiting)
      const reply =
        'head' in received ? toReply(received, deadline, format, target.model, sent, renamed) : received
      const { omitted, changed } = deviations
      return { reply, omitted, changed }
    } catch (error) {
      deadline.end()
      call?.abort(error)
      throw toCallError(error, deadline, call)
    }
  }

  /** Every error of a call passes here. Providers quote the key that they reject. */
  function toCallError(error: unknown, { aborted }: CallDeadline, call: ProviderCall | undefined): unknown {
    if (aborted === undefined) return redactor.error(call ? toNetworkError(error, id, call) : error)
    const { reason } = aborted
    return GatewayError.isInstance(reason) && call?.isSent ? reason.withExecuted('maybe') : reason
  }

  async function countTokens(
    request: ChatRequest,
    target: Target,
    client: ClientConnection,
    timeoutMs: number,
    format: NonNullable<ProviderAdapter['tokenCount']>,
  ): Promise<number> {
    let call: ProviderCall | undefined
    const deadline = new CallDeadline(id, client, timeoutMs, (reason) => call?.abort(reason))
    try {
      if (deadline.aborted !== undefined) throw deadline.aborted.reason
      const { waiting } = client
      call = (await start(request, target, deadline, format, waiting)).call
      // The time is that of the whole reply.
      const response = await call.readWhole(limitOf, () => undefined, waiting)
      if (isErrorStatus(response.head)) throw toProviderError(response)
      return format.parseReply(parseReplyBody(response.text))
    } catch (error) {
      call?.abort(error)
      throw toCallError(error, deadline, call)
    } finally {
      deadline.end()
    }
  }

  /** Not part of `send`: while it waits, its frame would keep the body, which may be large. */
  function start(
    request: ChatRequest,
    target: Target,
    deadline: CallDeadline,
    format: Pick<OperationFormat, 'buildRequest'>,
    waiting: WaitingTime | undefined,
    further?: SendOptions['headers'],
  ): MaybePromise<StartedRequest> {
    const { built, deviations, renamed, sent } = build(request, target, format)
    const path = pathOf(built.path, target.model)
    const body = typeof built.body === 'string' ? replaceLoneSurrogates(built.body) : built.body
    if (authorize === undefined) {
      const headers = headersOf.list(built.headers, further)
      return {
        call: new ProviderCall(pool, { method: 'POST', path, headers, body }),
        deviations,
        renamed,
        sent,
      }
    }
    const headers = headersOf.build(built.headers, further)
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const outgoing = { method: 'POST', url: new URL(path, origin), headers, body: bytes, apiKey } as const
    return authorizeRequest(authorize, outgoing, id, deadline, waiting).then((added) => {
      const call = new ProviderCall(pool, {
        method: 'POST',
        path,
        headers: { ...headers, ...added },
        body: bytes,
      })
      return { call, deviations, renamed, sent }
    })
  }

  function findOperation(operation: Exclude<Operation, 'chat'>, { model }: Target): OperationFormat {
    const format = adapter.operations?.[operation]
    if (format !== undefined) return format
    const message = `Provider ${id} has no ${operation}, so ${model} cannot be used. Use another model.`
    throw new GatewayError('unsupported_parameter', message, { param: 'model' })
  }

  function readWhole(
    call: ProviderCall,
    deadline: CallDeadline,
    waiting: WaitingTime | undefined,
  ): Promise<WholeResponse> {
    return call.readWhole(limitOf, () => deadline.extend(timeouts.idle_ms), waiting)
  }

  /** Some servers answer with a whole reply. */
  async function readStream(
    call: ProviderCall,
    deadline: CallDeadline,
    model: string,
    request: ChatRequest,
    renamed: StartedRequest['renamed'],
    waiting: WaitingTime | undefined,
  ): Promise<Reply> {
    const head = await whileWaiting(waiting, call.readHead())
    if (isErrorStatus(head)) throw toProviderError(await readWhole(call, deadline, waiting))
    const type = String(head.headers['content-type'])
    const isJson = /\bjson\b/i.test(type)
      ? adapter.frames !== 'ndjson'
      : isSse && !/\bevent-stream\b/i.test(type) && (await startsWithObject(call, waiting))
    if (isJson)
      return toReply(await readWhole(call, deadline, waiting), deadline, adapter, model, request, renamed)
    // Some servers have no or another type, but not that of a web page.
    if (/^text\/html\b/i.test(type)) throw unusableReplyError(`${id} did not respond with a stream.`)
    const toError = (error: unknown) => toCallError(error, deadline, call)
    const reader = createReader(request, renamed)
    const body = createBodyReader(adapter.frames, reader)
    const idleMs = timeouts.idle_ms
    const batches = new StreamBatches({ call, reader, body, deadline, idleMs, waiting, toError })
    if (!(await batches.readFirst())) throw unusableReplyError(`${id} sent an empty stream.`)
    return { type: 'stream', batches }
  }

  function createReader(request: ChatRequest, renamed: StartedRequest['renamed']): StreamReader {
    const reader = withRegularEvents(adapter.createStreamReader(request))
    return renamed === undefined ? reader : restoreNamesIn(reader, renamed)
  }

  function toReply(
    response: WholeResponse,
    deadline: CallDeadline,
    format: Pick<OperationFormat, 'parseReply' | 'parseText'>,
    model: string,
    request: ChatRequest,
    renamed: StartedRequest['renamed'],
  ): Reply {
    if (isErrorStatus(response.head)) throw toProviderError(response)
    if (!response.complete) {
      throw unusableReplyError(`${id} sent a reply larger than ${MAX_REPLY_MIB} MiB.`)
    }
    deadline.end()
    const known = format === adapter && renamed === undefined ? patterns : undefined
    const read = known?.read(model, response.text)
    if (read !== undefined) return { type: 'whole', event: read }
    // Some servers answer with a stream although none was asked for.
    if (format === adapter && isSse && STREAM_START.test(response.text)) {
      return { type: 'whole', event: parseStreamText(response.text, createReader(request, renamed)) }
    }
    const parsed = format.parseText?.(response.text, request)
    if (parsed !== undefined) return { type: 'whole', event: parsed }
    const body = parseReplyBody(response.text)
    const event = format.parseReply(body, request)
    if (renamed !== undefined) return { type: 'whole', event: toRegularReply(restoreNames(event, renamed)) }
    const native = event[NATIVE]
    if (native === undefined || native.record !== body) return { type: 'whole', event: toRegularReply(event) }
    const withSource = new ReplyEvent(event.parts, { record: native.record, source: response.text })
    const regular = toRegularReply(withSource)
    known?.learn(model, response.text, regular)
    return { type: 'whole', event: regular }
  }

  function parseReplyBody(text: string): unknown {
    const body = parseJson(text)
    if (body !== undefined) return body
    throw unusableReplyError(`${id} sent a reply that is not valid JSON.`)
  }

  function toProviderError({ head, text }: WholeResponse): GatewayError {
    const { status, headers } = head
    const failure = { provider: id, status, headers, body: redactor.json(text) }
    return adapter.parseError?.(failure) ?? parseErrorByStatus(failure)
  }

  const { tokenCount } = adapter
  return {
    id,
    send,
    countTokens: tokenCount && ((...call) => renewing(call[2], () => countTokens(...call, tokenCount))),
    findDeviations: (request, target) => build(request, target).deviations,
    close: () => pool.close(),
  }
}

function limitOf(head: ResponseHead): ResponseLimit {
  return isErrorStatus(head) ? ERROR_LIMIT : REPLY_LIMIT
}

/** Whether a response without the type of its content is JSON: no stream begins so. */
async function startsWithObject(call: ProviderCall, waiting: WaitingTime | undefined): Promise<boolean> {
  const start = await call.peek(waiting)
  return start !== undefined && /^\s*\{/.test(start.toString('latin1', 0, 100))
}

/** How the text of an event stream begins: with a field or a comment. */
const STREAM_START = /^(?:data|event|id|retry)?:/
