import {
  type ClientConnection,
  type EndedExchange,
  type Exchange,
  GatewayError,
  type Host,
  type JsonObject,
} from '../contract/index.ts'
import { type CallerSnapshot, createExchange, type RequestParser } from './inference.ts'
import type { PluginStep } from './load.ts'

/** What is known of the call with a request that is not sent. */
export interface UnsentCall extends Pick<Exchange, 'account'>, Partial<Pick<Exchange, 'client' | 'headers'>> {
  readonly requestId: string
  /** The path that it was sent to. */
  readonly endpoint?: string
}

/** The client of a request that no client sent. */
export const NO_CLIENT: ClientConnection = {
  isAborted: false,
  onAbort: () => () => undefined,
  onClose: () => undefined,
  signal: new AbortController().signal,
}

/** A request that is not sent has no response of its own. */
const NO_RESPONSE = { setDefaultHeader: () => undefined }

interface Decided {
  readonly exchange: EndedExchange
  /** The error that refuses the request. */
  readonly error: GatewayError | undefined
}

/**
 * Decides about a request that is not sent: one that is simulated, counted, recorded or made up. Throws what
 * its parser throws, and errors that are no `GatewayError`. See docs/decisions/rules.md, "Simulations run the
 * plugins' own decide".
 */
export async function decideAgain(
  parser: RequestParser,
  body: JsonObject,
  { client = NO_CLIENT, headers = {}, ...call }: UnsentCall,
  caller: CallerSnapshot,
  { decide }: Pick<Host, 'decide'>,
): Promise<Decided> {
  const context = { ...call, client, headers, state: {}, res: NO_RESPONSE, startedAt: performance.now() }
  const created = await createExchange(parser, body, context, caller)
  const exchange = { ...created, isSimulated: true as const }
  try {
    await decide(exchange)
    return { exchange, error: undefined }
  } catch (error) {
    if (GatewayError.isInstance(error)) return { exchange, error }
    throw error
  }
}

/**
 * Runs the phases before a provider is called, as `composeInference` does, without plugins that cannot decide
 * again: a warning says so. Its code tells that the request may hold what a guardrail would have found.
 */
export async function decideBy(steps: readonly PluginStep[], exchange: Exchange): Promise<void> {
  for (const { plugin, parts } of steps) {
    if (plugin.replay?.type !== 'not') await parts.decide?.(exchange)
    else if (parts.decide) exchange.warnings.push({ code: 'guardrail', message: plugin.replay.why })
  }
  for (const { plugin, parts } of steps) if (plugin.replay?.type !== 'not') await parts.confirm?.(exchange)
}
