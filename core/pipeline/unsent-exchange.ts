import type {
  ClientConnection,
  EndedExchange,
  EndpointCall,
  JsonObject,
  MaybePromise,
} from '../contract/index.ts'
import { chain } from '../util/maybe-promise.ts'
import { type CallerSnapshot, createExchange, type RequestParser } from './inference.ts'

/** The parts of an endpoint call that an exchange needs. */
export type ExchangeCall = Pick<
  EndpointCall<{ type: 'user' }>,
  'account' | 'requestId' | 'client' | 'headers'
>

/** The client of a request that no client sent. */
export const NO_CLIENT: ClientConnection = {
  isAborted: false,
  onAbort: () => () => undefined,
  onClose: () => undefined,
  signal: new AbortController().signal,
}

/** A request that is not sent has no response of its own. */
const NO_RESPONSE = { setDefaultHeader: () => undefined }

/** Creates the exchange of an inference request that is decided about, and not sent to a provider. */
export function createUnsentExchange(
  parser: RequestParser,
  body: JsonObject,
  { account, requestId, client, headers }: ExchangeCall,
  caller: CallerSnapshot,
): MaybePromise<EndedExchange> {
  const startedAt = performance.now()
  const context = { account, requestId, client, headers, state: {}, startedAt, res: NO_RESPONSE }
  return chain(createExchange(parser, body, context, caller), (exchange) => ({
    ...exchange,
    isSimulated: true as const,
  }))
}
