import { StrictObject, Type } from '../../core/contract/index.ts'
import { Milliseconds } from './schema-types.ts'

/** How long the gateway waits for a provider. */
export const ProviderTimeouts = StrictObject({
  connect_ms: Milliseconds('To open a connection to a provider.'),
  first_byte_ms: Milliseconds(
    'Until the response of a provider, or the first event of its stream, from when the request is sent. ' +
      'Reasoning models may need minutes.',
  ),
  idle_ms: Milliseconds('Between two chunks of a response of a provider.'),
})

/** How long the gateway waits, for providers, clients and its own processes. */
export const TimeoutSettings = StrictObject({
  ...ProviderTimeouts.properties,
  plugin_ms: Milliseconds(
    'For a phase of a plugin package, and for each batch of a stream that it makes. The time of next() ' +
      'does not count.',
  ),
  heartbeat_ms: Type.Integer({
    minimum: 100,
    maximum: 6000,
    description: 'How long a worker may not respond to the primary process before it is killed and replaced.',
  }),
  drain_ms: Milliseconds('For requests in flight to finish after SIGTERM; the rest is aborted.'),
  headers_ms: Milliseconds('For a client to send the headers of a request. At most request_ms.'),
  request_ms: Milliseconds('For a client to send a whole request. The response may take longer.'),
  stream_keep_alive_ms: Milliseconds(
    'The longest silence of a stream: then its client gets a comment or ping. A stream that has not ' +
      'begun is opened with status 200, after four fifths of it at the earliest. Less than the idle ' +
      'timeouts of load balancers in front.',
  ),
  keep_alive_ms: Milliseconds(
    'How long an idle connection stays open between two requests. Should exceed that of a proxy in ' +
      'front.',
  ),
  write_timeout_ms: Milliseconds(
    'How long a client may read nothing of a pending response. It is disconnected after at most ' +
      'twice this time.',
  ),
})
