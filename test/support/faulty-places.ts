import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chunk, completionOf } from './scripted-provider.ts'

/** How a place answers. `broken`: the connection ends before the first token. */
export const FAULTS = ['ok', 'limit', 'limit_date', 'error', 'timeout', 'broken', 'refused'] as const
export type Fault = (typeof FAULTS)[number]

/** Servers by name, each of which answers as it is told. */
export interface FaultyPlaces {
  /** Calls as they arrived: the name of the server, and the model. */
  readonly calls: (readonly [place: string, model: string])[]
  urlOf(place: string): string
  /** Until it is changed. A place that refuses connections does so for ever. */
  set(place: string, fault: Fault): Promise<void>
  close(): void
}

/** Seconds for which `limit` and `limit_date` ask not to be called. */
export const LIMITED_SECONDS = 40

export async function startFaultyPlaces(places: readonly string[]): Promise<FaultyPlaces> {
  const calls: (readonly [string, string])[] = []
  const faults = new Map<string, Fault>()
  const servers = new Map<string, ReturnType<typeof createServer>>()
  const urls = new Map<string, string>()
  for (const place of places) {
    const server = createServer(async (request, response) => {
      let text = ''
      for await (const piece of request) text += piece
      const { model, stream } = JSON.parse(text)
      calls.push([place, model])
      answer(response, faults.get(place) ?? 'ok', stream === true)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    servers.set(place, server)
    urls.set(place, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)
  }
  const end = (server: ReturnType<typeof createServer> | undefined) => {
    server?.close()
    server?.closeAllConnections()
  }
  return {
    calls,
    urlOf: (place) => urls.get(place) ?? '',
    async set(place, fault) {
      faults.set(place, fault)
      const server = servers.get(place)
      if (fault !== 'refused' || server?.listening !== true) return
      end(server)
      await once(server, 'close')
    },
    close() {
      for (const server of servers.values()) end(server)
    },
  }
}

function answer(response: ServerResponse, fault: Fault, isStream: boolean): void {
  if (fault === 'timeout') return
  if (fault === 'broken') {
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    response.write(isStream ? ': wait\n\n' : '{"id":')
    setImmediate(() => response.destroy())
    return
  }
  if (fault === 'ok' && isStream) {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(`data: ${JSON.stringify(chunk({ content: 'Hi' }, 'stop'))}\n\ndata: [DONE]\n\n`)
    return
  }
  const seconds = fault === 'limit' ? String(LIMITED_SECONDS) : undefined
  const date = fault === 'limit_date' ? new Date(Date.now() + LIMITED_SECONDS * 1000).toUTCString() : seconds
  const status = fault === 'ok' ? 200 : fault === 'error' ? 500 : 429
  const body = fault === 'ok' ? completionOf(10, 5) : { error: { message: fault } }
  response
    .writeHead(status, { 'content-type': 'application/json', ...(date && { 'retry-after': date }) })
    .end(JSON.stringify(body))
}
