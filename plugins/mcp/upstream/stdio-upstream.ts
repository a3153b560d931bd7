import type { Logger } from 'pino'
import { mcpError } from '../errors.ts'
import { RPC, type RpcId } from '../protocol.ts'
import type { ProgramTransport } from '../servers/state.ts'
import type { ReadSecret } from './credentials.ts'
import { findOwnId, newUpstreamId, type Outcome, readWholeMessage, type ServerMessage } from './envelope.ts'
import { handleNotice } from './http-upstream.ts'
import { listKindOf } from './list-watch.ts'
import { Program } from './program.ts'
import {
  buildModernRequest,
  buildSessionRequest,
  DISCOVER,
  initializeMessage,
  readDiscovery,
  readInitialization,
} from './revision.ts'
import {
  type ListKind,
  type ServerDescription,
  startCallTimer,
  type Upstream,
  type UpstreamContext,
  type UpstreamLimits,
  type UpstreamMessage,
} from './upstream.ts'

interface PendingRequest {
  readonly context: UpstreamContext
  touch(): void
  resolve(outcome: Outcome): void
  reject(error: unknown): void
}

const DISCOVER_MS = 3000

interface ProgramTarget {
  readonly name: string
  readonly program: ProgramTransport['program']
  readonly limits: UpstreamLimits
  readonly logger: Logger
  readonly readSecret: ReadSecret
}

/**
 * Connects to a program, which all callers of this process share. What one of the older revisions asks of the
 * client is refused. See docs/decisions/mcp.md, "One program for all callers".
 */
export function createStdioUpstream({
  name,
  program: settings,
  limits,
  logger,
  readSecret,
}: ProgramTarget): Upstream {
  const pending = new Map<string, PendingRequest>()
  const listeners = new Set<(kind: ListKind) => void>()
  let description: Promise<ServerDescription> | undefined

  const program = new Program(name, settings, limits.max_program_result_bytes, logger, readSecret, {
    onLine(line) {
      try {
        receive(readWholeMessage(line))
      } catch {
        logger.debug({ server: name }, 'a line of a tool server is no message')
      }
    },
    onLongLine(ends) {
      const max = limits.max_program_result_bytes
      const message = `The result of ${name} has more than ${max} bytes. Ask for less.`
      pending.get(findOwnId(ends) ?? '')?.reject(mcpError('tool_result_too_large', message))
    },
    onExit() {
      description = undefined
      const error = mcpError('tool_server_unavailable', `The program of the tool server ${name} has ended.`)
      for (const request of pending.values()) request.reject(error)
    },
  })

  function receive(message: ServerMessage): void {
    if (message.type === 'reply') pending.get(message.id ?? '')?.resolve(message.outcome)
    else if (message.type === 'request') refuse(message.id, message.method)
    else notify(message)
  }

  function notify(message: ServerMessage & { readonly type: 'notification' }): void {
    const kind = listKindOf(message.method)
    if (kind !== undefined) for (const listener of listeners) listener(kind)
    const { progressToken } = message.params
    if (typeof progressToken !== 'string') return
    const request = pending.get(progressToken)
    if (request === undefined) return
    request.touch()
    handleNotice(message, progressToken, request.context)
  }

  function refuse(id: RpcId, method: string): void {
    const error = { code: RPC.methodNotFound, message: 'The client does not support this.' }
    const content = method === 'ping' ? { result: {} } : { error }
    program.write(JSON.stringify({ jsonrpc: '2.0', id, ...content }))
  }

  /** Writes a request and waits for its answer. */
  async function send(
    build: (id: string) => string,
    context: UpstreamContext,
    timeoutMs = limits.call_timeout_ms,
  ): Promise<Outcome> {
    const id = newUpstreamId()
    await program.start()
    const timer = startCallTimer(name, { ...limits, call_timeout_ms: timeoutMs }, context.signal)
    try {
      return await new Promise<Outcome>((resolve, reject) => {
        timer.signal.throwIfAborted()
        timer.signal.addEventListener('abort', () => reject(timer.signal.reason))
        pending.set(id, { context, touch: timer.touch, resolve, reject })
        program.write(build(id))
        context.onSent?.(performance.now())
      })
    } catch (error) {
      if (timer.signal.aborted && program.isRunning) cancel(id)
      throw error
    } finally {
      timer.stop()
      pending.delete(id)
    }
  }

  function cancel(requestId: string): void {
    const params = { requestId, reason: 'The client has cancelled the request.' }
    try {
      program.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }))
    } catch {
      // It does not read, so it cannot be told.
    }
  }

  function describe(): Promise<ServerDescription> {
    description ??= open().catch((error: unknown) => {
      description = undefined
      throw error
    })
    return description
  }

  async function open(): Promise<ServerDescription> {
    const { signal } = new AbortController()
    const session = { key: '', capabilities: {} }
    const context = { caller: { userId: 0 }, session, capabilities: {}, signal }
    const discovered = await send((id) => buildModernRequest(id, DISCOVER, context), context, DISCOVER_MS)
      .then(readDiscovery)
      .catch((error: unknown) => {
        if (!program.isRunning) throw error
        return undefined
      })
    if (discovered !== undefined) return discovered
    const opened = await send((id) => buildSessionRequest(id, initializeMessage(context)), context)
    const initialized = await readInitialization(opened, undefined)
    program.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    return initialized
  }

  return {
    describe: () => describe(),
    async request(message: UpstreamMessage, context: UpstreamContext) {
      const { era, revision } = await describe()
      const build = (id: string) => {
        if (era === 'modern') return buildModernRequest(id, message, context)
        context.span?.describe(id, revision)
        return buildSessionRequest(id, message, context)
      }
      return send(build, context)
    },
    onListChanged(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    endSession: () => undefined,
    close: () => program.close(),
  }
}
