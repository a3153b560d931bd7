import type { ClientConnection, EndedExchange, GatewayError, Target } from '../../core/contract/index.ts'
import { newRequestId } from '../../core/util/ids.ts'
import { CopyOf, RecordedFeatures } from '../ledger/index.ts'

const NO_RESPONSE = { setDefaultHeader: () => undefined }

/** Stands in for the connection of a client: a copy has none. */
export class CopyConnection implements ClientConnection {
  readonly #controller = new AbortController()
  readonly #closeListeners: (() => void)[] = []

  get isAborted(): boolean {
    return this.#controller.signal.aborted
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  onAbort(notify: (reason: unknown) => void): () => void {
    const listener = () => notify(this.signal.reason)
    if (this.isAborted) listener()
    else this.signal.addEventListener('abort', listener, { once: true })
    return () => this.signal.removeEventListener('abort', listener)
  }

  onClose(notify: () => void): void {
    this.#closeListeners.push(notify)
  }

  abort(reason: Error): void {
    this.#controller.abort(reason)
  }

  interrupt(error: GatewayError): void {
    this.abort(error)
  }

  /** Call once, when the copy has ended. */
  close(): void {
    for (const notify of this.#closeListeners.splice(0)) notify()
  }
}

/**
 * Returns the copy of a request for another model, as the firewall masked it. It has an id and a state of its
 * own, and shares nothing that anybody changes.
 */
export function copyExchange(
  exchange: EndedExchange,
  target: Target,
  client: ClientConnection,
): EndedExchange {
  const { id, traceId, endpoint, operation, account, policies, rules, rulesPosition } = exchange
  const { request, defaulted, sentDefaults, parameterNames, route, requires, trace } = exchange
  // The record of the copy names the rule that sent it.
  const asking = trace.filter(({ action, outcome }) => action === 'shadow' && outcome === 'applied')
  const state = {}
  CopyOf.set({ state }, { requestId: id, isOwn: asking[0]?.origin === undefined })
  RecordedFeatures.set({ state }, RecordedFeatures.of(exchange))
  return {
    id: newRequestId(),
    ...{ traceId, endpoint, operation, account, client },
    headers: {},
    state,
    startedAt: performance.now(),
    ...{ policies, rules, rulesPosition, request, defaulted },
    received: request,
    ...(sentDefaults && { sentDefaults }),
    ...(parameterNames && { parameterNames }),
    ...(requires && { requires }),
    preferences: [],
    route: {
      mode: route?.mode ?? 'balance',
      targets: [target],
      isFixed: true,
      candidates: () => [],
      reason: `A routing rule sent a copy of the request: ${target.provider}/${target.model}.`,
      score: 1,
    },
    warnings: [],
    trace: asking,
    attempts: [],
    res: NO_RESPONSE,
  }
}
