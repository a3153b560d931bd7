import { isJsonObject, type JsonObject, type Position } from '../../../core/contract/index.ts'
import { parseSessionId, sessionOf } from '../../../core/http/session-header.ts'
import { type CallerSource, rulesPositionOf } from '../../../core/pipeline/inference.ts'
import { callTool, type PreparedCall } from '../call.ts'
import type { ToolCatalog, ToolServer } from '../catalog.ts'
import type { CallKind } from '../decide.ts'
import { mcpError, serverNotFoundError } from '../errors.ts'
import type { ListMethod, ServerLists } from '../lists.ts'
import {
  decodeHeaderText,
  LOG_LEVELS,
  objectOf,
  parameterHeaderNames,
  parameterHeaders,
  RPC,
  RpcError,
  type RpcId,
  SERVER_INFO,
  SUPPORTED_REVISIONS,
} from '../protocol.ts'
import type { Deciders } from '../services.ts'
import { type Outcome, toMessage } from '../upstream/envelope.ts'
import type { Upstreams } from '../upstream/servers.ts'
import type { UpstreamContext, UpstreamMessage } from '../upstream/upstream.ts'
import { type ClientContext, upstreamContext } from './client-context.ts'
import type { Mailbox } from './mailbox.ts'
import type { Merged } from './merge.ts'
import type { ParkableCall, ParkedCalls } from './parked-calls.ts'
import { askInSession, withInputs } from './requests.ts'
import {
  type Answer,
  type Channel,
  errorAnswer,
  errorObjectAnswer,
  resultAnswer,
  rpcCodeOf,
} from './respond.ts'
import { digest, ownerOf, type Sessions } from './sessions.ts'

export interface FrontServices {
  readonly version: string
  readonly stopping: AbortSignal
  readonly catalog: ToolCatalog
  readonly upstreams: Upstreams
  readonly lists: ServerLists
  readonly merged: Merged
  readonly deciders: Deciders
  readonly callers: CallerSource
  /** Position of the newest event of any tool server. */
  serversPosition(): Position
  readonly sessions: Sessions
  readonly mailbox: Mailbox
  readonly parked: ParkedCalls
  readonly limits: { readonly max_inspected_bytes: number; readonly list_seconds: number }
}

interface ClientRequest {
  readonly id: RpcId
  readonly method: string
  readonly params: JsonObject
  readonly argumentsText: string | undefined
}

/** Answers a request, but those that begin sessions and streams of notices. */
export async function handleRequest(
  services: FrontServices,
  context: ClientContext,
  request: ClientRequest,
  channel: Channel,
  controller: AbortController,
): Promise<Answer> {
  const { id, method, params } = request
  const { signal } = controller
  const { era } = context
  switch (method) {
    case 'tools/list':
    case 'prompts/list':
    case 'resources/list':
    case 'resources/templates/list':
      return listAnswer(services, context, id, method, params.cursor, signal)
    case 'tools/call':
      return callAnswer(services, context, request, 'tool', channel, controller)
    case 'prompts/get':
      return callAnswer(services, context, request, 'prompt', channel, controller)
    case 'resources/read':
      return callAnswer(services, context, request, 'resource', channel, controller)
    case 'completion/complete':
      return completionAnswer(services, context, request, signal)
    case 'ping':
      if (era === 'session') return resultAnswer(id, {})
      break
    case 'logging/setLevel':
      if (era === 'session') return setLogLevel(services, context, id, params)
      break
    case 'server/discover':
      if (era === 'modern') return resultAnswer(id, await describe(services, context, signal))
      break
  }
  throw new RpcError(RPC.methodNotFound, `Method not found: ${method}`, {
    status: era === 'modern' ? 404 : 200,
  })
}

async function listAnswer(
  { merged, limits }: FrontServices,
  context: ClientContext,
  id: RpcId,
  method: ListMethod,
  cursor: unknown,
  signal: AbortSignal,
): Promise<Answer> {
  const result = await merged.list(context, method, cursor, signal)
  if (context.era === 'session') return resultAnswer(id, result)
  // Rules decide what is listed, so a list is its caller's alone.
  const caching = { ttlMs: limits.list_seconds * 1000, cacheScope: 'private' }
  return resultAnswer(id, { resultType: 'complete', ...result, ...caching })
}

async function setLogLevel(
  { sessions }: FrontServices,
  { caller, endpoint, sessionId = '' }: ClientContext,
  id: RpcId,
  { level }: JsonObject,
): Promise<Answer> {
  if (!LOG_LEVELS.includes(String(level)))
    throw new RpcError(RPC.invalidParams, `level must be one of: ${LOG_LEVELS.join(', ')}.`)
  await sessions.setLogLevel(caller.account, endpoint, sessionId, String(level))
  return resultAnswer(id, {})
}

/** What the endpoint can do: what its server can, or for all servers, what any of them may. */
export async function describeCapabilities(
  { upstreams, sessions }: FrontServices,
  context: ClientContext,
  signal: AbortSignal,
): Promise<{ readonly capabilities: JsonObject; readonly instructions?: string | undefined }> {
  const [server] = context.servers
  const lists = { listChanged: true }
  if (context.isMerged || server === undefined)
    return { capabilities: { tools: lists, prompts: lists, resources: lists, completions: {}, logging: {} } }
  const described = await upstreams.describe(server, upstreamContext(context, server, sessions, signal))
  const has = (name: string) => described.capabilities[name] !== undefined
  const capabilities = {
    ...Object.fromEntries(['tools', 'prompts', 'resources'].filter(has).map((name) => [name, lists])),
    ...(has('completions') && { completions: {} }),
    ...(has('logging') && { logging: {} }),
  }
  return { capabilities, instructions: described.instructions }
}

async function describe(
  services: FrontServices,
  context: ClientContext,
  signal: AbortSignal,
): Promise<JsonObject> {
  return {
    resultType: 'complete',
    supportedVersions: SUPPORTED_REVISIONS,
    ...(await describeCapabilities(services, context, signal)),
    ttlMs: services.limits.list_seconds * 1000,
    cacheScope: 'private',
    _meta: { [SERVER_INFO]: serverInfo(services, context) },
  }
}

export function serverInfo({ version }: Pick<FrontServices, 'version'>, { endpoint }: ClientContext) {
  return { name: `signalbox${endpoint}`, title: 'Signalbox', version }
}

/** Calls a tool, gets a prompt or reads a resource. */
async function callAnswer(
  services: FrontServices,
  context: ClientContext,
  { id, params, method, argumentsText }: ClientRequest,
  kind: CallKind,
  channel: Channel,
  controller: AbortController,
): Promise<Answer> {
  const { signal } = controller
  const named = kind === 'resource' ? params.uri : params.name
  if (typeof named !== 'string')
    throw new RpcError(RPC.invalidParams, `params.${kind === 'resource' ? 'uri' : 'name'} must be a string.`)
  if (params.arguments !== undefined && !isJsonObject(params.arguments))
    throw new RpcError(RPC.invalidParams, 'params.arguments must be an object.')
  const resumed =
    context.era === 'modern' ? services.parked.resume(context, params, id, channel, signal) : undefined
  if (resumed !== undefined) return resumed
  const target = await findTarget(services, context, kind, named, signal)
  const { server, name } = target
  const call: ParkableCall = {
    ...{ channel, id, owner: ownerOf(context.caller.account), params },
    finished: Promise.resolve({ status: 200, message: undefined }),
    answer: undefined,
    attach: (other) => other.addEventListener('abort', () => controller.abort(other.reason)),
  }
  const { progressToken } = objectOf(params._meta)
  const upstream: UpstreamContext = {
    ...upstreamContext(context, server, services.sessions, signal),
    onNotification: (notice, content) => relay(context, call, progressToken, notice, content),
    onRequest:
      context.era === 'session'
        ? askInSession(context, channel, services.mailbox, signal)
        : services.parked.ask(context, call, signal),
  }
  const sentParams = kind === 'resource' ? params : { ...params, name }
  const message: UpstreamMessage = { method, params: sentParams, argumentsText }
  const run = async (): Promise<Answer> => {
    try {
      const toolCall = await prepareCall(services, context, server, kind, name, message, upstream)
      checkParameters(context, toolCall)
      const upstreams = context.era === 'session' ? withInputs(services.upstreams) : services.upstreams
      noteTarget(context, toolCall)
      const outcome = await callTool(
        { upstreams, deciders: services.deciders, limits: services.limits },
        toolCall,
      )
      // The server has a prompt of this name.
      if (kind === 'prompt' && 'result' in outcome) context.trace?.note({ 'gen_ai.prompt.name': name })
      const { era } = await services.upstreams.describe(server, upstream)
      return await toAnswer(context, call.id, outcome, era, kind)
    } catch (error) {
      context.trace?.fail(error, rpcCodeOf(error), signal.aborted)
      const answer = signal.aborted ? undefined : errorAnswer(call.id, error)
      if (answer === undefined) throw error
      return answer
    }
  }
  call.finished = run()
  return call.finished
}

async function findTarget(
  { merged }: FrontServices,
  context: ClientContext,
  kind: CallKind,
  named: string,
  signal: AbortSignal,
): Promise<{ readonly server: ToolServer; readonly name: string }> {
  if (kind !== 'resource') {
    const found = merged.findNamed(context, named)
    if (found !== undefined) return found
    throw mcpError('tool_not_found', `Unknown ${kind}: ${named}`)
  }
  const server = await merged.findResource(context, named, signal)
  if (server !== undefined) return { server, name: named }
  throw new RpcError(codeForResource(context), `Unknown resource: ${named}`, { data: { uri: named } })
}

/** Lists the tools of a server, unless they are known. Returns what keeps it from that. */
async function whyUnlisted(
  { lists }: FrontServices,
  server: ToolServer,
  upstream: UpstreamContext,
): Promise<{ readonly error: unknown } | undefined> {
  try {
    await lists.ready(server, upstream)
    return undefined
  } catch (error) {
    return { error }
  }
}

/** Headers that repeat arguments must have the same values: others decide by them. */
function checkParameters({ era, headers }: ClientContext, { definition, message: sent }: PreparedCall): void {
  if (era !== 'modern' || typeof definition !== 'object') return
  const { inputSchema } = definition.definition
  const expected = parameterHeaders(inputSchema, sent.params.arguments)
  for (const header of parameterHeaderNames(inputSchema)) {
    const given = headers[header]
    const value = expected[header]
    if (typeof given === 'string' && value !== undefined && isSameValue(given, value)) continue
    if (given === undefined && value === undefined) continue
    const message = `The header ${header} must have the value of the argument that it repeats.`
    throw new RpcError(RPC.headerMismatch, message, { status: 400 })
  }
}

function isSameValue(given: string, expected: string): boolean {
  const [a, b] = [decodeHeaderText(given), decodeHeaderText(expected)]
  return a === b || (/^-?\d+(\.0+)?$/.test(a) && Number(a) === Number(b))
}

function codeForResource({ era }: ClientContext): number {
  return era === 'modern' ? RPC.invalidParams : RPC.resourceNotFound
}

async function prepareCall(
  services: FrontServices,
  context: ClientContext,
  server: ToolServer,
  kind: CallKind,
  name: string,
  message: UpstreamMessage,
  upstream: UpstreamContext,
): Promise<PreparedCall> {
  const { requestId, startedAt, client, session, headers, trace } = context
  const { sessions, deciders, catalog } = services
  // Codex names its session in every call.
  const named = sessionOf(headers) ?? parseSessionId(objectOf(message.params._meta).sessionId)
  const sessionId = named ?? session?.key
  // Another name in the same session forgets nothing. Calls of a key without a session are one session: what
  // is forbidden after reading stays forbidden.
  const ids = session === undefined || named === undefined ? [sessionId ?? ''] : [named, session.key]
  const readKeys = ids.map((id) => digest(`${ownerOf(context.caller.account)} ${id}`))
  const read = deciders.rules === undefined ? new Set<string>() : await sessions.readOf(readKeys)
  let noted: Promise<void> | undefined
  const unlisted = kind === 'tool' ? await whyUnlisted(services, server, upstream) : undefined
  const current = catalog.find(server.name)
  if (current === undefined) throw serverNotFoundError(server.name)
  // Rules and definitions are taken together, so that the call can be decided again as of one position.
  const { account, policies, policyPosition, rules } = services.callers.snapshot(context.caller.account)
  const rulesPosition = rulesPositionOf({ account, rules, policyPosition })
  return {
    ...{ id: requestId, startedAt, caller: { account, policies, rules, client }, sessionId, read },
    ...{ server: current, kind, name, message, unlisted },
    definition: kind === 'tool' ? catalog.tool(current, name) : undefined,
    rulesPosition,
    decidedAt: Math.max(rulesPosition, services.serversPosition()),
    context: upstream,
    trace,
    async noteRead() {
      if (deciders.rules === undefined) return
      noted ??= sessions.noteRead(readKeys, server.name)
      await noted
    },
  }
}

/** Names that the caller made up are in no span. */
function noteTarget({ trace }: ClientContext, { server, definition, name }: PreparedCall): void {
  if (definition !== undefined && definition !== 'unknown') trace?.note({ 'gen_ai.tool.name': name })
  trace?.note({ 'signalbox.tool.server': server.name })
}

/** Hands on progress and log messages of the server, with the token of the client. */
function relay(
  { era, logLevel }: ClientContext,
  call: ParkableCall,
  progressToken: unknown,
  method: string,
  params: JsonObject,
): void {
  const isProgress = method === 'notifications/progress'
  if (isProgress && progressToken === undefined) return
  if (!isProgress && era === 'modern' && logLevel === undefined) return
  if (!isProgress && logLevel !== undefined && rank(params.level) < rank(logLevel)) return
  const content = isProgress ? { ...params, progressToken } : params
  call.channel.send(JSON.stringify({ jsonrpc: '2.0', method, params: content }))
}

function rank(level: unknown): number {
  return LOG_LEVELS.indexOf(String(level))
}

/** Turns the outcome into the answer in the revision of the client. */
async function toAnswer(
  context: ClientContext,
  id: RpcId,
  outcome: Outcome,
  serverEra: ClientContext['era'],
  kind: CallKind,
): Promise<Answer> {
  if ('error' in outcome) {
    const { code } = outcome.error
    context.trace?.fail(new RpcError(code, ''), code, false)
    const isResource = code === RPC.resourceNotFound || (kind === 'resource' && code === RPC.invalidParams)
    const error = isResource ? { ...outcome.error, code: codeForResource(context) } : outcome.error
    return errorObjectAnswer(id, error, context.era === 'modern' && isAboutRequest(code) ? 400 : 200)
  }
  const isConverted = context.era === 'modern' && serverEra === 'session'
  const caching = kind === 'resource' ? ',"ttlMs":0,"cacheScope":"private"' : ''
  const members = isConverted ? `"resultType":"complete"${caching}` : ''
  const { result } = outcome
  // What is wrong with a short result is known before the response begins.
  const isShort = await result.isShort(SHORT_BYTES)
  const message = isShort
    ? toMessage(await result.text(SHORT_BYTES), JSON.stringify(id), members)
    : result.message(JSON.stringify(id), members)
  return { status: 200, message }
}

const SHORT_BYTES = 64 * 1024

/** Errors that the revision without sessions sends with status 400. */
function isAboutRequest(code: number): boolean {
  return code <= RPC.headerMismatch && code >= RPC.unsupportedVersion
}

async function completionAnswer(
  services: FrontServices,
  context: ClientContext,
  { id, params, method }: ClientRequest,
  signal: AbortSignal,
): Promise<Answer> {
  const ref = objectOf(params.ref)
  const kind = ref.type === 'ref/resource' ? 'resource' : 'prompt'
  const named = kind === 'resource' ? ref.uri : ref.name
  if (typeof named !== 'string')
    throw new RpcError(RPC.invalidParams, 'params.ref must name a prompt or resource.')
  const { server, name } = await findTarget(services, context, kind, named, signal)
  const sent = { ...params, ref: kind === 'prompt' ? { ...ref, name } : ref }
  const upstream = upstreamContext(context, server, services.sessions, signal)
  const argument = objectOf(params.argument)
  const completes = {
    ...objectOf(objectOf(params.context).arguments),
    ...(typeof argument.name === 'string' && { [argument.name]: argument.value }),
  }
  const message = { method, params: sent }
  const call = await prepareCall(services, context, server, kind, name, message, upstream)
  const outcome = await callTool(services, { ...call, completes })
  const { era } = await services.upstreams.describe(server, upstream)
  return toAnswer(context, id, outcome, era, 'prompt')
}
