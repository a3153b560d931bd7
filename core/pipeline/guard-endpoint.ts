import type { Endpoint, EndpointResponse } from '../contract/index.ts'
import { checkHeader } from '../http/server/default-headers.ts'
import { describeType } from './check-reply.ts'
import { freezeShared } from './freeze-shared.ts'
import { type PluginGuard, runPhase } from './guard-phase.ts'

/** Wraps an endpoint of a plugin package: it must answer in time, and what can be sent. */
export function guardEndpoint(endpoint: Endpoint, guard: PluginGuard): Endpoint {
  const { textBody } = endpoint
  const phase = `${endpoint.method} ${endpoint.path}`
  const run = (call: { readonly client: Parameters<typeof runPhase>[2] }, answer: () => unknown) =>
    Promise.resolve(runPhase(guard, phase, call.client, answer)).then((response) =>
      checkResponse(response, endpoint, guard),
    )
  return {
    ...endpoint,
    handle: (call) => {
      freezeShared(call)
      return run(call, () => endpoint.handle(call))
    },
    // Its body may arrive for hours.
    ...(textBody && {
      textBody: {
        ...textBody,
        handle: async (call) => checkResponse(await textBody.handle(call), endpoint, guard),
      },
    }),
  }
}

function checkResponse(value: unknown, endpoint: Endpoint, guard: PluginGuard): EndpointResponse {
  try {
    return parseResponse(value, endpoint)
  } catch (error) {
    const { message } = error as Error
    throw new TypeError(`${guard.title} answered ${endpoint.method} ${endpoint.path} with ${message}`)
  }
}

function parseResponse(value: unknown, { responses }: Endpoint): EndpointResponse {
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`${describeType(value)} in place of a response`)
  const response = value as EndpointResponse
  const { status, headers = {}, body, json, stream } = response
  if (!Number.isInteger(status) || status < 200 || status > 599)
    throw new TypeError('a status that is not a whole number from 200 to 599')
  for (const [name, text] of Object.entries(headers)) checkHeader(name, text)
  const described = responses[status]
  const hasContent = body !== undefined || json !== undefined || stream !== undefined
  if (!hasContent && (described?.body ?? described?.events ?? described?.text) !== undefined)
    throw new TypeError(`no body, which its responses declare for the status ${status}`)
  if (json !== undefined && !(json instanceof Uint8Array))
    throw new TypeError('json that is not a Uint8Array')
  if (stream !== undefined && typeof stream?.[Symbol.asyncIterator] !== 'function')
    throw new TypeError('a stream that is not an async iterable')
  return { status, headers, body, ...(json && { json }), ...(stream && { stream }) }
}
