import type { OperationFormat, ProviderAdapter, ProviderRequest, StreamReader } from '../contract/index.ts'
import { checkHeader } from '../http/server/default-headers.ts'
import { runAsPlugin } from '../util/plugin-context.ts'
import { checkEvents, describeType } from './check-reply.ts'
import { type PluginGuard, runSync } from './guard-phase.ts'

/**
 * Wraps an adapter of a plugin package: requests that cannot be sent, and replies that are none, fail with an
 * error that names the plugin, and do not count as failures of the provider.
 */
export function guardAdapter(adapter: ProviderAdapter, guard: PluginGuard): ProviderAdapter {
  const { format, operations, parseError, authorize, frames } = adapter
  const run = <Value>(name: string, call: () => Value) =>
    runSync(guard, `${name} of the wire format "${format}"`, call)
  const guardFormat = <Format extends OperationFormat>(own: Format) => ({
    buildRequest: ((request, target) =>
      run('buildRequest', () => checkRequest(own.buildRequest(request, target)))) as Format['buildRequest'],
    parseReply: ((body: never, request: never) =>
      run('parseReply', () => {
        const event = own.parseReply(body, request)
        checkEvents([event], `a reply of ${guard.title}`)
        return event
      })) as Format['parseReply'],
  })
  // Adapters may be instances of a class.
  return Object.assign(Object.create(adapter) as ProviderAdapter, {
    ...guardFormat(adapter as OperationFormat),
    buildAuthHeaders: (apiKey: string) => adapter.buildAuthHeaders(apiKey),
    createStreamReader: (request: Parameters<ProviderAdapter['createStreamReader']>[0]) =>
      guardReader(
        run('createStreamReader', () => adapter.createStreamReader(request)),
        guard,
        run,
      ),
    ...(authorize && {
      authorize: (...call: Parameters<typeof authorize>) =>
        runAsPlugin(guard.title, () => authorize.apply(adapter, call)),
    }),
    ...(typeof frames === 'object' && {
      frames: { createReader: () => run('createReader', () => frames.createReader()) },
    }),
    ...(parseError && {
      parseError: (failure: Parameters<typeof parseError>[0]) =>
        run('parseError', () => parseError.call(adapter, failure)),
    }),
    ...(operations && {
      operations: Object.fromEntries(
        Object.entries(operations).map(([name, own]) => [name, { ...own, ...guardFormat(own) }]),
      ),
    }),
  })
}

function guardReader(
  reader: StreamReader,
  guard: PluginGuard,
  run: <Value>(name: string, call: () => Value) => Value,
): StreamReader {
  const title = `a stream of ${guard.title}`
  const { isDone } = reader
  return {
    read: (event) => run('read', () => checkEvents(reader.read(event), title)),
    end: () => run('end', () => checkEvents(reader.end(), title)),
    ...(isDone && { isDone: () => isDone.call(reader) }),
  }
}

function checkRequest(request: ProviderRequest): ProviderRequest {
  const { path, headers, body, omitted } = request
  if (typeof path !== 'string' || typeof body !== 'string' || !Array.isArray(omitted))
    throw new TypeError(`it returned ${describeType(request)} without a path, a body or omitted`)
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value)
  return request
}
